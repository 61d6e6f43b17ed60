// Heun's step, shared by `heun` and `restart`.
#pragma once

#include "sampling/sampler.h"

namespace hearth::sampling {

// Karras et al. 2022 (arXiv 2206.00364), Algorithm 2: the mean of the slopes at both ends of an Euler step; to σ = 0 the Euler step.
// x [B, H, W, C] at `from` → the same at `to`. One denoiser call, two if σ' > 0.
Tensor heun_step(const Run& run, const Tensor& x, const Level& from, const Level& to);

}  // namespace hearth::sampling
