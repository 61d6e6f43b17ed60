// Sizes of memory, for people.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace hearth {

// Two sizes in GB ("1.90"), with two decimals or as many more as tell them apart.
std::pair<std::string, std::string> in_gigabytes(int64_t a, int64_t b);

}  // namespace hearth
