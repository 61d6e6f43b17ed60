// exp and its sum over a row of logits, in loops that compilers vectorize.
#pragma once

#include <cstdint>
#include <span>

namespace hearth::sampling {

// out[i] = exp(x[i] − max) for finite x[i] ≤ max or x[i] = −∞, to a relative error of 1.2e-7; 0 below exp(−87). Returns their sum,
// accumulated in f64 in a fixed order. `out` may be x itself.
double exponentials(std::span<const float> x, float max, std::span<float> out);

// The sum alone.
double sum_of_exponentials(std::span<const float> x, float max);

// The sum of the values, in the same order.
double sum_of(std::span<const float> x);

// The largest value, −∞ for an empty row.
float largest(std::span<const float> x);

// Number of values that are NaN or infinite.
int64_t count_non_finite(std::span<const float> x);

// NonFiniteError "logits: 2 of 32000 values are not finite, the first is nan at token 17, expected finite values", ShapeError for an
// empty row.
void check_logits(std::span<const float> logits);

}  // namespace hearth::sampling
