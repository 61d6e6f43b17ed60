// The noise levels that a network was trained on, one per timestep: x = √ᾱ·x₀ + √(1 − ᾱ)·noise, or, divided by √ᾱ,
// x₀ + σ·noise with σ = √((1 − ᾱ)/ᾱ).
//
// The arithmetic is that of diffusers 0.39.0 on torch, bit for bit: β in f32, products accumulated in f64 and rounded to f32
// entry by entry. (Computing in f64 throughout would move the latents by 2e-6 to 7e-6.)
#pragma once

#include <span>
#include <vector>

#include "sampling/compat/scheduler_config.h"

namespace hearth::sampling {

struct NoiseTable {
  explicit NoiseTable(const SchedulerConfig& config);

  int64_t size() const { return int64_t(alphas_cumprod.size()); }
  // σ at a timestep, linear between the entries, clamped to the table's ends.
  double sigma_at(double timestep) const;
  // The timestep of a σ, linear in ln σ between the entries, clamped to the table's ends; fractional in general.
  double timestep_of(double sigma) const;

  std::vector<float>
      alphas_cumprod;  // ᾱ, decreasing. With rescale_betas_zero_snr the last is 2⁻²⁴ for the classes that need σ, 0 otherwise
  std::vector<float> sigmas;  // increasing; the last is infinite if ᾱ is 0
  std::vector<float> log_sigmas;

 private:
  void fill(std::vector<float> bars);
};

// n values from a to b, as torch.linspace computes them in f32: from both ends towards the middle.
std::vector<float> linspace_f32(double a, double b, int64_t n);

}  // namespace hearth::sampling
