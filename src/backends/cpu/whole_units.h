// Sizes in whole units of work and of memory.
#pragma once

#include <cstdint>

namespace hearth::cpu {

// How many pieces of `size` cover n elements; the last piece may be shorter. n ≥ 0, size ≥ 1.
constexpr int64_t parts(int64_t n, int64_t size) { return (n + size - 1) / size; }

// n rounded up to a multiple of `unit`. n ≥ 0, unit ≥ 1.
constexpr int64_t padded(int64_t n, int64_t unit) { return parts(n, unit) * unit; }

}  // namespace hearth::cpu
