// Long lists in one-line messages.
#pragma once

#include <span>
#include <string>

namespace hearth {

// "a, b, c"; for more than ten items, the first ten "and 3 more".
std::string shortened_list(std::span<const std::string> items);

// "1.5 kB"
std::string size_text(int64_t bytes);

}  // namespace hearth
