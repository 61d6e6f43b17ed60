// How commands that write weights tell what they wrote.
#pragma once

#include <string>

#include "cli/progress_line.h"
#include "hearth/written.h"

namespace hearth::cli {

// Ends `line` and says the notes; then on stdout one line, or with `json` one object: {"output", …`own`, "tensors", "parameters", "bytes",
// "types", "notes"}. The line calls what was written by the last of `own`: [(key, value)].
void tell_written(ProgressLine& line, const WrittenWeights& written, const std::string& output,
                  const std::vector<std::pair<std::string, std::string>>& own, bool json);

}  // namespace hearth::cli
