#include "sampling/steps/dpm.h"

#include <cmath>

namespace hearth::sampling {

DpmWeights dpm_weights(DpmAlgorithm algorithm, DpmSolverType type, int order, const Level& from, const Level& to) {
  const double h = lambda(to) - lambda(from);
  const bool data = algorithm == DpmAlgorithm::data || algorithm == DpmAlgorithm::data_sde;
  const bool sde = algorithm == DpmAlgorithm::data_sde || algorithm == DpmAlgorithm::noise_sde;
  // With z the exponent's change over the step: φ₁, φ₂, φ₃ times `size` weigh D0, D1, D2.
  const double z = data ? (sde ? -2 * h : -h) : h, e = std::expm1(z);
  const double size = data ? -to.alpha : (sde ? -2 : -1) * to.sigma;
  DpmWeights w;
  w.x = data ? to.sigma / from.sigma * (sde ? std::exp(-h) : 1) : to.alpha / from.alpha;
  // σ'·(eʰ − 1) = α'·σ/α − σ', which is finite at σ' = 0.
  w.d0 = data ? size * e : (sde ? -2 : -1) * (to.alpha * from.sigma / from.alpha - to.sigma);
  w.noise = !sde ? 0 : data ? to.sigma * std::sqrt(-std::expm1(-2 * h)) : to.sigma * std::sqrt(std::expm1(2 * h));
  if (order == 1) return w;
  if (order == 2 && type == DpmSolverType::midpoint) w.d1 = w.d0 / 2;
  else w.d1 = (data ? -size : size) * (e / std::abs(z) + (data ? 1 : -1));
  if (order < 3) return w;
  // The integral requires −½ here; with step noise diffusers 0.39.0 has +½ (times −α'), and published images depend on it.
  w.d2 = size * ((e - z) / (z * z) + (algorithm == DpmAlgorithm::data_sde ? 0.5 : -0.5));
  return w;
}

Tensor dpm_estimate(DpmAlgorithm algorithm, const Tensor& x, const Tensor& x0, const Level& level) {
  if (algorithm == DpmAlgorithm::data || algorithm == DpmAlgorithm::data_sde) return x0;
  return combine({x, x0}, {1 / level.sigma, -level.alpha / level.sigma});
}

std::vector<Option> dpm_options(bool lower_order_final) {
  const auto choices = [](const auto& texts) { return std::vector<std::string_view>(std::begin(texts), std::end(texts)); };
  return {{.name = "solver_order", .summary = "of the polynomial", .standard = 2, .least = 1, .most = 3, .whole = true},
          {.name = "algorithm_type",
           .summary = "++: integrates x0, otherwise the noise; sde: with step noise",
           .most = 3,
           .whole = true,
           .choices = choices(dpm_algorithms)},
          {.name = "solver_type", .summary = "weights of the slope", .most = 1, .whole = true, .choices = choices(dpm_solver_types)},
          {.name = "lower_order_final",
           .summary = "lower the order at the end",
           .standard = double(lower_order_final),
           .most = 1,
           .whole = true}};
}

DpmAlgorithm dpm_algorithm(const Run& run) { return DpmAlgorithm(int(run.option("algorithm_type"))); }
DpmSolverType dpm_solver_type(const Run& run) { return DpmSolverType(int(run.option("solver_type"))); }

}  // namespace hearth::sampling
