// The commit that the command was built from. The build writes the definition (cmake/commit.cmake) into a separate library,
// so that a new commit compiles one small file and relinks only the programs.
#pragma once

namespace hearth::cli {

const char* commit();  // "1a2b3c4d5e6f", "1a2b3c4d5e6f-dirty" with uncommitted changes, "" when unknown

}  // namespace hearth::cli
