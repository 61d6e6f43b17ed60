// The ancestral split: a step to σ' first goes further down without noise, then step noise restores σ'.
#pragma once

#include "sampling/sampler.h"

namespace hearth::sampling {

struct AncestralSplit {
  double down;     // the σ that the deterministic step goes to
  double up;       // the standard deviation of the step noise
  double rescale;  // factor of x before the noise; 1 except on flow paths
};

// k-diffusion's, of σ/α. up = min(σ', eta·√(σ'²(σ² − σ'²)/σ²)), down = √(σ'² − up²); to may be 0.
AncestralSplit exploding_split(double from, double to, double eta);
// The same on exploding paths; on flow paths down = σ'·(1 + eta·(σ'/σ − 1)), not below 0, rescale = α'/α_down and
// up = √(σ'² − (down·rescale)²). eta = 0 is no split.
AncestralSplit ancestral_split(const Path& path, double from, double to, double eta);

// rescale·x + s_noise·up·noise; draws nothing if up is 0.
Tensor renoised(const Run& run, const Tensor& x, const AncestralSplit& split);

std::vector<Option> noise_options(double eta);  // eta, with this default, and s_noise

}  // namespace hearth::sampling
