// The sizes of images and latents (StableCascadePriorPipeline and StableCascadeDecoderPipeline of diffusers 0.39.0).
#pragma once

#include <array>
#include <cstdint>

namespace hearth::models::stable_cascade {

// A side of ⌈pixels / 42.67⌉ latents of the prior becomes one of 4·⌊10.67 · latents⌋ pixels. Those that are not multiples of 8 are left
// out: the decoder's patches of two latents do not cover them, and the reference fails.

// [height, width] of the images for a requested size: the next side that there is, or one that is up to 2 pixels smaller.
std::array<int64_t, 2> size_of_run(int64_t height, int64_t width);

// [h, w] of the prior's latents for images of such a size.
std::array<int64_t, 2> prior_latents(int64_t height, int64_t width);

}  // namespace hearth::models::stable_cascade
