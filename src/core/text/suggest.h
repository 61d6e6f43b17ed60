// "did you mean …?"
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace hearth {

// Number of insertions, deletions, substitutions and transpositions of adjacent characters between two words (optimal string alignment).
int edit_distance(std::string_view a, std::string_view b);

// The candidate that was probably meant: the only one that starts with `word`, or the nearest within a third of the word's length
// (one edit for short words); "" if none is near.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

// "; did you mean X?" for the nearest, or "". If several start with `word`, the shortest ones: "; did you mean X or Y?".
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace hearth
