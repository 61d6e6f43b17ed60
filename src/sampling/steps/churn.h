// Churn (Karras et al. 2022, arXiv 2206.00364, Algorithm 2): before a step, noise lifts x to a higher level.
#pragma once

#include "sampling/sampler.h"

namespace hearth::sampling {

// s.x lifted from its step's level to σ̂ = σ·(1 + γ) with γ = min(s_churn/n, √2 − 1) where s_tmin ≤ σ ≤ s_tmax, else 0. The level there.
Level churn(State& s, const Run& run);

std::vector<Option> churn_options();  // s_churn, s_tmin, s_tmax, s_noise

}  // namespace hearth::sampling
