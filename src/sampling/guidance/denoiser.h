// The boundary between samplers and networks. Input scale, timestep, prediction type and guidance are handled here and nowhere else.
#pragma once

#include <functional>
#include <utility>

#include "core/tensor.h"
#include "sampling/guidance/guidance.h"
#include "sampling/schedules/prediction.h"
#include "sampling/schedules/schedule.h"

namespace hearth::sampling {

struct Estimate {
  Estimate(Tensor guided, Tensor without_prompt = {}) : x0(std::move(guided)), unconditional(std::move(without_prompt)) {}
  Tensor x0;             // estimate of x₀, after guidance
  Tensor unconditional;  // the same under the negative prompt alone; only if the sampler needs it
};

// x [B, H, W, C] f32 = level.alpha·x₀ + level.sigma·noise → x̂₀ of the same shape, f32.
using Denoiser = std::function<Estimate(const Tensor& x, const Level& level)>;

// The network itself: x [nB, H, W, C] f32 of variance about 1, the batch repeated for each of n branches → its prediction,
// same shape, f32, f16 or bf16.
using GuidedNetwork = std::function<Tensor(const Tensor& x, float timestep, const Branches& branches)>;
// A network whose only branches are the negative prompt and the prompt.
using Network = std::function<Tensor(const Tensor& x, float timestep)>;

// Calls `network` and converts its predictions to x̂₀ (prediction.h), combined as `guidance` says (guidance.h).
// `memory` outlives the denoiser; the caller that runs the sampler updates its step.
Denoiser make_denoiser(GuidedNetwork network, Parameterization prediction, const Guidance& guidance, Unconditional unconditional,
                       GuidanceMemory& memory);
// Classifier-free guidance: negative + scale·(prompt − negative), both in one batch. A scale ≤ 1 evaluates the prompt alone, as diffusers
// does (0.5 equals 1). If the sampler needs the unconditional estimate, both are evaluated and any scale is applied.
Denoiser make_denoiser(Network network, Parameterization prediction, double scale, Unconditional unconditional = Unconditional::unused);

}  // namespace hearth::sampling
