// Reads standard input, and files that may be pipes.
#pragma once

#include <filesystem>
#include <string>

namespace hearth::cli {

// Standard input, whole. Canceled if Ctrl-C ends the wait, IoError if it cannot be read.
std::string read_input();

// A file, whole; from a pipe or a terminal, /dev/stdin too, everything until its end.
std::string read_text(const std::filesystem::path& file);

}  // namespace hearth::cli
