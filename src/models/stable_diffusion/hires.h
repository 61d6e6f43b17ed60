// A second pass at a larger size on what the first one made: A1111's "hires. fix".
#pragma once

#include "models/stable_diffusion/run.h"

namespace hearth::models::stable_diffusion {

// How the first pass becomes larger.
struct Upscaler {
  std::string_view name;
  bool of_latents;  // else of the picture, which is decoded, resized and encoded again
};
// UsageError lists those that there are.
const Upscaler& find_upscaler(std::string_view name);

// z [B, h, w, C] → [B, height, width, C], as torch's interpolate makes it (align_corners off): "latent" (bilinear), "latent-antialiased",
// "latent-bicubic", "latent-bicubic-antialiased", "latent-nearest", "latent-nearest-exact". Not smaller than it is.
Tensor upscaled_latents(const Tensor& z, int64_t height, int64_t width, std::string_view upscaler);

// The two passes of a request that asks for them. The second begins with nothing yet: latents or pictures without their numbers, of the
// right size.
ImageRequest first_pass(const ImageRequest& request);
MemoryPlan of_first_pass(const MemoryPlan& plan);  // which lets go of nothing that the second needs
ImageRequest second_pass(const StableDiffusionConfig& config, const ImageRequest& request, Backend& device);

// resolve() of both: the second's sizes, the network calls and warnings of both. UsageError for what does not go with two passes.
Resolved resolve_twice(const StableDiffusionConfig& config, const ImageRequest& request, Backend& device);
// run() of both.
ImageResult run_twice(const StableDiffusionConfig& config, const ImageRequest& request, const MemoryPlan& plan, Backend& device,
                      Networks& networks, const OnProgress& progress);

}  // namespace hearth::models::stable_diffusion
