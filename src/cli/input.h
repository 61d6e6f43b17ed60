// What comes from standard input, and from files that may be pipes.
#pragma once

#include <filesystem>
#include <string>

namespace hearth::cli {

// All of it. Cancelled where Ctrl-C ends the waiting, IoError where it cannot be read.
std::string read_input();

// All of a file that the user names; of a pipe or a terminal, /dev/stdin too, what comes until it ends.
std::string read_text(const std::filesystem::path& file);

}  // namespace hearth::cli
