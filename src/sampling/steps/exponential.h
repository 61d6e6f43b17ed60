// Functions and noise levels of exponential integrators, whose time is λ = ln(α/σ).
#pragma once

#include <cmath>

#include "sampling/sampler.h"

namespace hearth::sampling {

// (eᶻ − 1)/z, (φ₁(z) − 1)/z, and (eᶻ − 1 − z)/z = z·φ₂(z); their limits at 0.
inline double phi_1(double z) { return z == 0 ? 1 : std::expm1(z) / z; }
inline double phi_2(double z) { return std::abs(z) < 1e-4 ? 0.5 + z / 6 + z * z / 24 : (phi_1(z) - 1) / z; }
inline double psi(double z) { return z * phi_2(z); }

// A flow path starts at σ = 1, where λ is infinite. The plan therefore starts at the σ of 0.01 % of the model's own schedule, as in
// ComfyUI. Other plans are unchanged.
inline Schedule finite_start(const Schedule& schedule, const Options&) {
  Schedule plan = schedule;
  if (plan.path.family != Family::flow || plan.steps.empty() || plan.steps.front().from.sigma < 1) return plan;
  Step& first = plan.steps.front();
  first.at = first.from = plan.path.at(plan.path.sigma_at(1e-4));
  return plan;
}

// The standard deviation of the noise of a stochastic step of length h in λ, relative to the σ reached: √(1 − e^(−2·h·eta)).
inline double fresh_part(double h, double eta) { return std::sqrt(-std::expm1(-2 * h * eta)); }

}  // namespace hearth::sampling
