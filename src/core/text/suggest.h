// "did you mean …?"
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace hearth {

// Number of insertions, deletions, changes and swaps of neighboring characters between two words (optimal string alignment).
int edit_distance(std::string_view a, std::string_view b);

// The candidate that was probably meant: the only one that begins with `word`, or the nearest within a third of the word's length
// (one change for short words); "" when none is near.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

// "; did you mean X?" for the nearest, or "". Of several that begin with `word` the shortest: "; did you mean X or Y?".
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace hearth
