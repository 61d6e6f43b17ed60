#include "nn/timestep_embedding.h"

#include <cmath>

namespace hearth::nn {

Tensor embed_timesteps(Backend& backend, std::span<const float> timesteps, const TimestepEmbedding& spec) {
  const int64_t half = spec.channels / 2;
  std::vector<float> values(timesteps.size() * size_t(spec.channels), 0.0f);
  for (size_t b = 0; b < timesteps.size(); ++b)
    for (int64_t i = 0; i < half; ++i) {
      // The reference rounds exponent, frequency and angle to f32 in this order.
      const float exponent = (-9.210340371976184f * float(i)) / (float(half) - spec.frequency_shift);
      const float angle = timesteps[b] * std::exp(exponent);
      float* row = values.data() + b * size_t(spec.channels);
      row[spec.cosine_first ? i : half + i] = std::cos(angle);
      row[spec.cosine_first ? half + i : i] = std::sin(angle);
    }
  return Tensor::from(backend, {int64_t(timesteps.size()), spec.channels}, values);
}

}  // namespace hearth::nn
