// The command `hearth`, without the process around it.
#pragma once

#include <span>
#include <string>

namespace hearth::cli {

// Runs the verb; what goes wrong becomes one line "hearth: …" on stderr. → exit code: 0 done, 1 failed, 2 wrong usage,
// 130 interrupted.
int run(std::span<const std::string> arguments);

}  // namespace hearth::cli
