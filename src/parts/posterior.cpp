#include "parts/posterior.h"

#include <algorithm>
#include <cmath>

#include "core/backend.h"
#include "core/error.h"

namespace hearth::parts {

std::vector<float> Posterior::deviation() const {
  if (!logvar) return std::vector<float>(size_t(mean.numel()));
  std::vector<float> values = logvar.to_vector();
  for (float& v : values) v = std::exp(0.5f * std::clamp(v, -30.0f, 20.0f));
  return values;
}

RawLatents Posterior::sample(const Tensor& noise) const {
  if (noise.shape() != mean.shape()) fail<ShapeError>("posterior: noise {}, needed {}", noise.shape(), mean.shape());
  if (!mean.backend().computes()) return {Tensor::like(mean)};
  std::vector<float> values = deviation();
  const std::vector<float> centre = mean.to_vector(), normal = noise.to_vector();
  for (size_t i = 0; i < values.size(); ++i) values[i] = centre[i] + values[i] * normal[i];
  return {Tensor::from(mean.backend(), mean.shape(), values)};
}

}  // namespace hearth::parts
