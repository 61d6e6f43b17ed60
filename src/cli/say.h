// What is told beside the result.
#pragma once

#include <string_view>

namespace hearth::cli {

// "hearth: LINE" to stderr. Where nothing can be written there, nobody listens: the run goes on.
void say(std::string_view line);

}  // namespace hearth::cli
