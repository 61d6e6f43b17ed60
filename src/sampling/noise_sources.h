// Named sources of noise. Values come in the order of [B, C, H, W], as PyTorch's programs have them, and are returned channels
// last. All are independent of the number of threads; those per image, of the batch.
#pragma once

#include <cstdint>

#include "sampling/noise.h"

namespace hearth::sampling {

// PyTorch's CPU generator, one draw after the other.
NoiseDraws torch_draws(uint64_t seed, Generators generators);
// One such generator for single images one after the other: image k of a batch is its draw number first_image + k. (ComfyUI with
// batch indices; where an image has a multiple of 16 values, this is what its whole batch at once gives, too.) Draw 0 only.
NoiseDraws torch_indexed_draws(uint64_t seed, int64_t first_image);
// A1111's "NV" source (counter_normals.h): image k under seed + k, draw by draw.
NoiseDraws nv_draws(uint64_t seed);
// hearth's own, by counter: image k under seed + k.
NoiseDraws counter_draws(uint64_t seed);

// Draw 0 from `first`, draw k ≥ 1 draw number k − 1 of `rest`.
NoiseDraws first_then(NoiseDraws first, NoiseDraws rest);
// Draw 0 from `first`, the others as `draws` has them.
NoiseDraws first_replaced(NoiseDraws first, NoiseDraws draws);
// Draw 0 is `given` [B, C, H, W] f32; there is no other. ShapeError when another shape is asked for.
NoiseDraws given_draw(const Tensor& given);

// hearth's own path (OctavePath): image k under seed + k.
NoiseIncrements octave_increments(uint64_t seed);
// torchsde's (TorchsdePath) between the levels low < high. per_image: image k under seed + k; one: one tree of the whole batch.
NoiseIncrements torchsde_increments(uint64_t seed, Generators generators, double low, double high);

}  // namespace hearth::sampling
