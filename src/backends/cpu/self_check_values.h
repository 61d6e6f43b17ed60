// Helpers of the known-answer checks (self_check.cpp, self_check_rows.cpp).
#pragma once

#include <cmath>
#include <vector>

#include "backends/cpu/kernels/kernels.h"
#include "core/error.h"

namespace hearth::cpu {

// Throws a description of the difference if a result is wrong.
inline void expect(const char* what, double got, double right, double tolerance = 1e-5) {
  if (!(std::abs(got - right) <= tolerance * (1 + std::abs(right)))) fail<Error>("{}: {}, expected {}", what, got, right);
}

inline float value(int64_t i) { return float((i * 37 + 11) % 64 - 32) / 16; }  // in [-2, 2), exact in every dtype

inline std::vector<float> values(int64_t n, int64_t seed = 0) {
  std::vector<float> v(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) v[size_t(i)] = value(i + seed);
  return v;
}

// Checks recurrences over a matrix (self_check_delta_rule.cpp).
void check_delta_rule(const Kernels& kernel);
// Checks products with weights in place and attention to a KV cache (self_check_rows.cpp).
void check_language_kernels(const Kernels& kernel);
// Checks scans (self_check_recurrence.cpp).
void check_recurrences(const Kernels& kernel);

}  // namespace hearth::cpu
