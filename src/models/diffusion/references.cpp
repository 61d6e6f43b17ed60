#include "models/diffusion/references.h"

#include <algorithm>

#include "core/error.h"
#include "core/on_host.h"
#include "media/editing/resample.h"

namespace hearth::models::diffusion {

std::vector<Pixels> fitted_references(std::vector<Pixels> images, int64_t unit,
                                      std::array<int64_t, 2> (*size_of)(int64_t height, int64_t width)) {
  for (size_t i = 0; i < images.size(); ++i) {
    Pixels& image = images[i];
    const auto [height, width] =
        size_of ? size_of(image.height, image.width) : std::array{image.height / unit * unit, image.width / unit * unit};
    if (width < unit || height < unit)
      fail<UsageError>("generate: reference image {} is {}×{}, expected sides of at least {} pixels", i + 1, image.width, image.height,
                       unit);
    if (width != image.width || height != image.height) image = resize(image, width, height, Filter::lanczos);
  }
  return images;
}

std::vector<Tensor> encode_references(std::span<const Pixels> images, const HostedCodec& codec, Backend& host) {
  std::vector<Tensor> latents;
  for (const Pixels& image : images) {
    const Tensor pixels = written_on_host(host, {1, image.height, image.width, 3}, DType::f32, [&](Tensor& y) {
      std::ranges::copy(to_floats(image, PixelRange::minus_one_to_one), y.data<float>());
    });
    latents.push_back(codec.to_model(codec.encode(pixels).mode()));
  }
  return latents;
}

}  // namespace hearth::models::diffusion
