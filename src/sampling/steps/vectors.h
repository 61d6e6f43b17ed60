// All vector work of the samplers, on host tensors. f32; or f64, to compare trajectories with
// their definitions to 1e-6.
#pragma once

#include <initializer_list>
#include <span>

#include "core/tensor.h"
#include "sampling/schedules/path.h"

namespace hearth::sampling {

// Σ factorᵢ·xᵢ, added in the given order; on f32 tensors the factors are rounded to f32 once.
Tensor combine(std::span<const Tensor> xs, std::span<const double> factors);
inline Tensor combine(std::initializer_list<Tensor> xs, std::initializer_list<double> factors) {
  return combine(std::span<const Tensor>(xs.begin(), xs.size()), std::span<const double>(factors.begin(), factors.size()));
}

// From one level to a less noisy one along the straight line through x and x̂₀, without step noise:
//   x' = alpha·x̂₀ + sigma·ε  with  ε = (x − α·x̂₀)/σ
Tensor towards(const Tensor& x, const Tensor& x0, const Level& from, double alpha, double sigma);

Tensor clipped(const Tensor& x, double limit);  // min(max(x, −limit), limit)

// √(mean of ((a − b)/max(absolute, relative·max(|a|, |scale|)))²) over all values: the error norm of adaptive step control.
// 0 in a dry run.
double relative_rms(const Tensor& a, const Tensor& b, const Tensor& scale, double absolute, double relative);

}  // namespace hearth::sampling
