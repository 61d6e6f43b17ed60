// Ctrl-C and SIGTERM.
#pragma once

namespace hearth::cli {

// From now on the first SIGINT or SIGTERM sets `canceled` (command.h), so that the run ends cleanly; the second kills the process.
void catch_signals();

}  // namespace hearth::cli
