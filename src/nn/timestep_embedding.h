// Sinusoidal embedding of a timestep (Vaswani et al. 2017; diffusers' get_timestep_embedding).
#pragma once

#include <span>

#include "core/tensor.h"

namespace hearth::nn {

struct TimestepEmbedding {
  int64_t channels = 320;
  bool cosine_first = true;   // flip_sin_to_cos of the checkpoint's config
  float frequency_shift = 0;  // freq_shift: frequencies exp(−ln 10⁴ · i/(channels/2 − shift))
};

// timesteps [B], fractional allowed → f32 [B, channels]; an odd width ends with a zero.
Tensor embed_timesteps(Backend& backend, std::span<const float> timesteps, const TimestepEmbedding& spec);

}  // namespace hearth::nn
