// The command `hearth`, apart from process setup.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace hearth::cli {

// Runs the command; an error becomes one line "hearth: …" on stderr. → exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted.
// `commit`: what --version prints after the version.
int run(std::span<const std::string> arguments, std::string_view commit = {});

}  // namespace hearth::cli
