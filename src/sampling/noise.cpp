#include "sampling/noise.h"

#include <vector>

#include "ops/shape_ops.h"
#include "sampling/torch_generator.h"

namespace hearth::sampling {
namespace {

// One contiguous draw of B·C·H·W values.
Tensor drawn(TorchGenerator& generator, Backend& device, const Shape& shape) {
  const Shape order{shape[0], shape[3], shape[1], shape[2]};
  if (!device.computes()) return ops::to_channels_last(Tensor::empty(device, order));
  std::vector<float> values(size_t(shape.numel()));
  generator.normal(values);
  return ops::to_channels_last(Tensor::from(device, order, values));
}

}  // namespace

Noise torch_cpu_noise(uint64_t seed, Generators generators) {
  return [seed, generators, states = std::vector<TorchGenerator>()](Backend& device, const Shape& shape) mutable {
    if (shape.rank() != 4) fail<ShapeError>("noise: shape {}, needed [B, H, W, C]", shape);
    const size_t count = generators == Generators::one ? 1 : size_t(shape[0]);
    while (states.size() < count) states.emplace_back(seed + states.size());
    if (generators == Generators::one) return drawn(states.front(), device, shape);
    std::vector<Tensor> images;
    for (size_t k = 0; k < count; ++k) images.push_back(drawn(states[k], device, {1, shape[1], shape[2], shape[3]}));
    return images.size() == 1 ? images.front() : ops::concat(images, 0);
  };
}

Noise noise_from(const Tensor& first, Noise rest) {
  return [first, used = false, rest = std::move(rest)](Backend& device, const Shape& shape) mutable {
    if (used) return rest(device, shape);
    used = true;
    if (first.rank() != 4 || shape != Shape{first.size(0), first.size(2), first.size(3), first.size(1)})
      fail<ShapeError>("noise: the given noise is {}, needed {}", first.shape(), Shape{shape[0], shape[3], shape[1], shape[2]});
    return ops::to_channels_last(first);
  };
}

}  // namespace hearth::sampling
