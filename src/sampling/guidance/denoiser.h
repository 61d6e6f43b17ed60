// The boundary between samplers and networks: the one place that owns the input scale, the time, the prediction type and guidance.
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
  Tensor x0;             // what x₀ probably is, after guidance
  Tensor unconditional;  // the same from the negative prompt alone; only where the sampler needs it
};

// x [B, H, W, C] f32 = level.alpha·x₀ + level.sigma·noise → x̂₀ of the same shape, f32.
using Denoiser = std::function<Estimate(const Tensor& x, const Level& level)>;

// The network itself: x [nB, H, W, C] f32 of variance about 1, the batch under each of n branches one after the other → its answer,
// same shape, f32, f16 or bf16.
using GuidedNetwork = std::function<Tensor(const Tensor& x, float timestep, const Branches& branches)>;
// One without branches but those under the negative prompt and under the prompt.
using Network = std::function<Tensor(const Tensor& x, float timestep)>;

// Asks `network` and turns its answers into x̂₀ (prediction.h), as `guidance` puts them together (guidance.h).
// `memory` outlives the denoiser; who runs the sampler keeps its step.
Denoiser make_denoiser(GuidedNetwork network, Parameterization prediction, const Guidance& guidance, Unconditional unconditional,
                       GuidanceMemory& memory);
// Classifier-free guidance: negative + scale·(prompt − negative), both in one batch; scale ≤ 1 asks for the prompt alone, as diffusers
// does (0.5 equals 1), but where the sampler needs the unconditional estimate it asks for both, and any scale counts.
Denoiser make_denoiser(Network network, Parameterization prediction, double scale, Unconditional unconditional = Unconditional::unused);

}  // namespace hearth::sampling
