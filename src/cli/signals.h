// Ctrl-C and its relatives.
#pragma once

namespace hearth::cli {

// From now on the first SIGINT or SIGTERM sets `cancelled` (command.h), so that what runs ends cleanly; the second kills.
void catch_signals();

}  // namespace hearth::cli
