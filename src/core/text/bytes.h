// Memory sizes for messages.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace hearth {

// Two sizes in GB ("1.90"), with two decimals, or as many more as it takes to tell them apart.
std::pair<std::string, std::string> in_gigabytes(int64_t a, int64_t b);

}  // namespace hearth
