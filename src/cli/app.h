// The command `hearth`, without the process around it.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace hearth::cli {

// Runs the verb; what goes wrong becomes one line "hearth: …" on stderr. → exit code: 0 done, 1 failed, 2 wrong usage,
// 130 interrupted. `commit`: what --version shows beside the version.
int run(std::span<const std::string> arguments, std::string_view commit = {});

}  // namespace hearth::cli
