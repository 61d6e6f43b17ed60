// Shared by diffusers' DPM-Solver classes: the exact integrals over one step of a polynomial in λ = ln(α/σ).
//   Lu et al. 2022 (arXiv 2206.00927): on the noise ε; (arXiv 2211.01095): "++", on x₀, and the stochastic forms
#pragma once

#include <string_view>
#include <vector>

#include "sampling/sampler.h"

namespace hearth::sampling {

enum class DpmAlgorithm { data, data_sde, noise, noise_sde };  // in the order of dpm_algorithms (scheduler_config.h)
enum class DpmSolverType { midpoint, heun };

// x' = x·`x` + D0·`d0` + D1·`d1` + D2·`d2` + step noise·`noise`, where D0, D1, D2 are the value, the first derivative times h and half the
// second times h² of the estimate (x₀ or ε). d1 for `order` 2 and `type` midpoint is that of a mean slope; d2 is 0 below order 3.
// If `to` has no noise, the weights are finite for d0 alone.
struct DpmWeights {
  double x = 0, d0 = 0, d1 = 0, d2 = 0, noise = 0;
};
DpmWeights dpm_weights(DpmAlgorithm algorithm, DpmSolverType type, int order, const Level& from, const Level& to);

// What the polynomial interpolates: x̂₀, or the noise that x and x̂₀ imply.
Tensor dpm_estimate(DpmAlgorithm algorithm, const Tensor& x, const Tensor& x0, const Level& level);

// The options algorithm_type, solver_type and solver_order of both rows.
std::vector<Option> dpm_options(bool lower_order_final);
DpmAlgorithm dpm_algorithm(const Run& run);
DpmSolverType dpm_solver_type(const Run& run);

}  // namespace hearth::sampling
