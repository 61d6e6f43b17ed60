// Reference images as latents (Black Forest Labs 2025, arXiv 2506.15742: FLUX.1 Kontext), after diffusers' pipelines, 0.39.0.
#pragma once

#include "models/diffusion/latent_model.h"

namespace hearth::models::diffusion {

// The images as they are encoded: in the size that `size_of` says ([height, width], Facts::size_of_reference), or without it each side
// rounded down to a multiple of `unit`; resized by Pillow's Lanczos filter if it changes. UsageError if a side is below the unit.
std::vector<Pixels> fitted_references(std::vector<Pixels> images, int64_t unit,
                                      std::array<int64_t, 2> (*size_of)(int64_t height, int64_t width) = nullptr);

// → the mean of each image's latents on the denoiser's scale, [1, h, w, C] on the host.
std::vector<Tensor> encode_references(std::span<const Pixels> images, const HostedCodec& codec, Backend& host);

}  // namespace hearth::models::diffusion
