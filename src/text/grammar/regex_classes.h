// Sets of characters that regular expressions name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "text/grammar/expression.h"

namespace hearth::text::grammar {

std::vector<CharRange> digit_ranges();       // \d
std::vector<CharRange> word_ranges();        // \w
std::vector<CharRange> space_ranges();       // \s
std::vector<CharRange> line_break_ranges();  // what "." leaves out
// \p{property}: "L", "Lu", "Script=Greek", "Alphabetic". nullopt if Unicode has no such property.
std::optional<std::vector<CharRange>> property_ranges(const std::string& property);

}  // namespace hearth::text::grammar
