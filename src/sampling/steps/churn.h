// Churn (Karras et al. 2022, arXiv 2206.00364, Algorithm 2): before a step, noise raises x to a higher noise level.
#pragma once

#include "sampling/sampler.h"

namespace hearth::sampling {

// Raises s.x from its step's level to σ̂ = σ·(1 + γ) with γ = min(s_churn/n, √2 − 1) if s_tmin ≤ σ ≤ s_tmax, else 0. Returns that level.
Level churn(State& s, const Run& run);

std::vector<Option> churn_options();  // s_churn, s_tmin, s_tmax, s_noise

}  // namespace hearth::sampling
