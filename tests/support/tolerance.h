// Error measures and limits. A golden test writes the error that it observed next to its limit.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <vector>

#include "core/tensor.h"

namespace hearth::test {

// Relative L2 error ‖a − b‖ / ‖b‖; infinite if any value is non-finite or the sizes differ.
double relative_error(std::span<const float> a, std::span<const float> b);
double max_difference(std::span<const float> a, std::span<const float> b);

// Relative L2 error allowed for an op's result against wide arithmetic on the same rounded inputs.
inline double op_tolerance(DType dtype) {
  switch (dtype) {
    case DType::f16: return 6e-4;   // one rounding at the store: 2⁻¹¹
    case DType::bf16: return 5e-3;  // 2⁻⁸
    default: return 2e-6;
  }
}

}  // namespace hearth::test

// EXPECT_CLOSE(tensor, tensor or vector of f32, limit): relative L2 error at most the limit; the message shows the observed error.
#define EXPECT_CLOSE(actual, expected, limit)                                                                               \
  do {                                                                                                                      \
    const auto expect_close_a = ::hearth::test::values_of(actual);                                                          \
    const auto expect_close_b = ::hearth::test::values_of(expected);                                                        \
    const double expect_close_error = ::hearth::test::relative_error(expect_close_a, expect_close_b);                       \
    EXPECT_LE(expect_close_error, limit) << #actual << ": relative error " << expect_close_error << ", largest difference " \
                                         << ::hearth::test::max_difference(expect_close_a, expect_close_b);                 \
  } while (false)

namespace hearth::test {
inline std::vector<float> values_of(const Tensor& x) { return x.to_vector(); }
inline std::vector<float> values_of(const std::vector<float>& x) { return x; }
}  // namespace hearth::test
