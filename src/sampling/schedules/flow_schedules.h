// Schedules of flow models, x = (1 − σ)·x₀ + σ·noise with σ in [0, 1]: warps of a grid of times, all in f64. σ(1) = 1 and σ(0) = 0 for
// every warp. Formulas as in the papers and diffusers 0.39.0.
#pragma once

#include <cstdint>
#include <vector>

namespace hearth::sampling {

using Values = std::vector<double>;

// Esser et al. 2024 (arXiv 2403.03206), equation 23: σ = s·t/(1 + (s − 1)·t). s > 0; 1 is the identity.
double shifted(double t, double shift);

// How a scheduler's `mu` warps time (diffusers' time_shift_type). Both are the shift above: by e^mu, or by mu itself.
enum class TimeShift { exponential, linear };
double shift_of(TimeShift type, double mu);

// mu of `tokens` image tokens, on the straight line through two anchors.
struct MuLine {
  double base_tokens = 256, base_shift = 0.5, max_tokens = 4096, max_shift = 1.15;  // FLUX.1
};
inline constexpr MuLine ltx_mu_line{1024, 0.95, 4096, 2.05};
double mu_of(const MuLine& line, double tokens);

// FLUX.2: mu for `tokens` image tokens and n steps, fitted to measurements; from 4300 tokens on it does not depend on n.
double empirical_mu(double tokens, int64_t n);

// 1, (n − 1)/n, … 1/n: the grid that FLUX and related models warp; with the shift it is the schedule `simple` on their tables.
Values flow_times(int64_t n);
// Each time warped, then 0.
Values flow_sigmas(const Values& times, double shift);

// Stretches a schedule that ends in 0 so that its last σ above 0 becomes `terminal` and 1 stays 1: 1 − (1 − σ)·(1 − terminal)/(1 − σ_last).
// LTX-Video has terminal 0.1. UsageError unless 0 < terminal < 1. A schedule whose only level is σ = 1 is returned unchanged.
Values stretched_to(Values sigmas, double terminal);

// Ideogram 4: σ = sigmoid(mu + spread·Φ⁻¹(1 − i/n)), half of ln(SNR) clamped to [−9, 7.5]; then 0. The published mu is 0 at 1024 tokens of
// 16×16 pixels and ½·ln(tokens/1024) elsewhere.
Values logit_normal_sigmas(int64_t n, double mu, double spread);

// SANA-Sprint's angles (TrigFlow, Lu & Song 2024, arXiv 2410.11081), x = cos t·x₀ + sin t·noise: n + 1 evenly spaced from `largest` to 0;
// with two steps the middle one is `middle`.
Values trigflow_angles(int64_t n, double largest = 1.57080, double middle = 1.3);

}  // namespace hearth::sampling
