// The boundary between samplers and networks: the one place that owns the input scale, the time, the prediction type and guidance.
#pragma once

#include <functional>
#include <utility>

#include "core/tensor.h"
#include "sampling/schedule.h"

namespace hearth::sampling {

struct Estimate {
  Estimate(Tensor guided, Tensor without_prompt = {}) : x0(std::move(guided)), unconditional(std::move(without_prompt)) {}
  Tensor x0;             // what x₀ probably is, after guidance
  Tensor unconditional;  // the same from the negative prompt alone; only where the sampler needs it
};

// x [B, H, W, C] f32 = level.alpha·x₀ + level.sigma·noise → x̂₀ of the same shape, f32.
using Denoiser = std::function<Estimate(const Tensor& x, const Level& level)>;

enum class Unconditional { unused, needed };

// The network itself: x [nB, H, W, C] f32 of variance about 1 → its answer, same shape, f32, f16 or bf16. Without guidance n = 1;
// with it n = 2, the batch under the negative prompt first, then under the prompt.
using Network = std::function<Tensor(const Tensor& x, float timestep)>;

// Asks `network` at x/√(α² + σ²) and turns its answer into x̂₀:
//   ε  (x − σ·ε)/α      v  α/(α² + σ²)·x − σ/√(α² + σ²)·v      sample  as it is
// Guidance (Ho & Salimans 2022, arXiv 2207.12598): negative + guidance·(prompt − negative) on the network's answers, both in one
// batch; guidance ≤ 1 asks for the prompt alone, as diffusers does (0.5 equals 1), but where the sampler
// needs the unconditional estimate it asks for both, and any guidance counts.
Denoiser make_denoiser(Network network, Prediction prediction, double guidance, Unconditional unconditional = Unconditional::unused);

inline bool uses_guidance(double guidance) { return guidance > 1; }
// Whether the network is asked twice, under the negative prompt and under the prompt.
inline bool asks_twice(double guidance, Unconditional u) { return uses_guidance(guidance) || u == Unconditional::needed; }

// What the network answered, told back from x and x̂₀, on variance-preserving levels.
Tensor network_answer(const Tensor& x, const Tensor& x0, const Level& level, Prediction prediction);

}  // namespace hearth::sampling
