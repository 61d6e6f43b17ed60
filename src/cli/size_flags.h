// The flags of what Stable Diffusion XL is told of a picture's size and past.
#pragma once

#include "cli/flags.h"
#include "hearth/size_conditions.h"

namespace hearth::cli {

void add_size_flags(Flags& flags, SizeConditions& sizes);

// "1024x768" → {1024, 768}; UsageError for another form or a number outside 0 … 2²⁰.
SizeConditions::Pair parse_size_pair(const std::string& text);
// "16,8" → {16, 8}; the same errors.
SizeConditions::Pair parse_point(const std::string& text);

}  // namespace hearth::cli
