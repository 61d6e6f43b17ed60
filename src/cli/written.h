// The report of commands that write weights.
#pragma once

#include <string>

#include "cli/progress_line.h"
#include "hearth/written.h"

namespace hearth::cli {

// Ends `line` and logs the notes; then prints one line to stdout, or with `json` one object: {"output", …`own`, "tensors", "parameters",
// "bytes", "types", "notes"}. `own`: [(key, value)]; the line names the last value.
void report_written(ProgressLine& line, const WrittenWeights& written, const std::string& output,
                    const std::vector<std::pair<std::string, std::string>>& own, bool json);

}  // namespace hearth::cli
