#include "parts/posterior.h"

#include <algorithm>
#include <cmath>

#include "core/on_host.h"

namespace hearth::parts {

std::vector<float> Posterior::deviation() const {
  if (!logvar) return std::vector<float>(size_t(mean.numel()));
  std::vector<float> values = logvar.to_vector();
  for (float& v : values) v = std::exp(0.5f * std::clamp(v, -30.0f, 20.0f));
  return values;
}

RawLatents Posterior::sample(const Tensor& noise) const {
  if (noise.shape() != mean.shape()) fail<ShapeError>("posterior: noise has shape {}, expected {}", noise.shape(), mean.shape());
  const auto drawn = [&](float* y, const float* center, const float* normal) {
    const std::vector<float> deviations = deviation();
    for (size_t i = 0; i < deviations.size(); ++i) y[i] = center[i] + deviations[i] * normal[i];
  };
  return {on_host(mean.shape(), drawn, mean, noise)};
}

void check_tile(int64_t tile, int64_t unit) {
  if (tile < unit || tile % unit) fail<UsageError>("vae: tile size is {} latent pixels, expected a multiple of {}", tile, unit);
}

}  // namespace hearth::parts
