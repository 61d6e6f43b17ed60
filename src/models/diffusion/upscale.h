// Resizing: upscalers between two passes, and images that are made in another size than the requested one.
#pragma once

#include <string_view>

#include "core/tensor.h"
#include "media/editing/resample.h"

namespace hearth::models::diffusion {

struct Upscaler {
  std::string_view name;
  bool of_latents;  // else of the image, which is decoded, resized and encoded again
};
// UsageError lists the available ones.
const Upscaler& find_upscaler(std::string_view name);

// z [B, h, w, C] → [B, height, width, C], as torch's interpolate makes it (align_corners off): "latent" (bilinear), "latent-antialiased",
// "latent-bicubic", "latent-bicubic-antialiased", "latent-nearest", "latent-nearest-exact". The result must not be smaller.
Tensor upscaled_latents(const Tensor& z, int64_t height, int64_t width, std::string_view upscaler);

// Resizes pixels by an upscaler that does not work on latents.
Pixels upscaled(const Pixels& image, int64_t width, int64_t height, std::string_view upscaler);

// An image [1, H, W, C] enlarged or reduced, as torch's interpolate makes it (bilinear, align_corners off), until it covers width × height,
// and its center. → [1, height, width, C]. The rounded size may exceed the covered one by less than a pixel.
Tensor resized_and_cropped(const Tensor& image, int64_t width, int64_t height);

}  // namespace hearth::models::diffusion
