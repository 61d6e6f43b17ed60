// Upscalers between two passes.
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

}  // namespace hearth::models::diffusion
