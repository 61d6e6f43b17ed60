// Named sources of noise. Values come in the order of [B, C, H, W], as PyTorch's programs have them, and are returned channels
// last. All are independent of the number of threads; those per image, of the batch: image k under seed + apart·k.
#pragma once

#include <cstdint>

#include "hearth/choices.h"
#include "sampling/noise/noise.h"

namespace hearth::sampling {

using hearth::Rng;  // nv: counter_normals.h

// What a program draws for the posteriors of images that it encodes, from the same generators, each draw for one image: so many before
// draw 0, and so many after it. With a generator per image each of them draws its own; one generator draws for one image only.
struct EncodingDraws {
  int64_t before = 0, after = 0;
};

// PyTorch's CPU generator, one draw after the other.
NoiseDraws torch_draws(uint64_t seed, Generators generators, EncodingDraws encodings = {}, uint64_t apart = 1);
// The draws that go to the posteriors, the first of them number 0: [B, H, W, C], or [1, H, W, C] from one generator. `shape` is draw 0's;
// `skips_first`: draw 0 is not made, because it is given.
Tensor torch_encoding_draw(uint64_t seed, Generators generators, EncodingDraws encodings, Backend& device, const Shape& shape,
                           int64_t number, bool skips_first, uint64_t apart = 1);
// One such generator for single images one after the other: image k of a batch is its draw number first_image + k. (ComfyUI with
// batch indices; where an image has a multiple of 16 values, this is what its whole batch at once gives, too.) Draw 0 only.
NoiseDraws torch_indexed_draws(uint64_t seed, int64_t first_image);
// A1111's "NV" source, draw by draw.
NoiseDraws nv_draws(uint64_t seed, uint64_t apart = 1);
// hearth's own, by counter: image k under seed + k.
NoiseDraws counter_draws(uint64_t seed);

// Draw 0 from `first`, draw k ≥ 1 draw number k − 1 of `rest`.
NoiseDraws first_then(NoiseDraws first, NoiseDraws rest);
// Draw 0 from `first`, the others as `draws` has them.
NoiseDraws first_replaced(NoiseDraws first, NoiseDraws draws);
// Draw 0 is `given` [B, C, H, W] f32; there is no other. ShapeError when another shape is asked for.
NoiseDraws given_draw(const Tensor& given);

// A1111's variations: `strength` of the way from the draws of `from` to those of `to`, along the circle through both; the angle is that
// between columns of a channel, and where they are nearly one (mean cosine above 0.9995) a straight line, from the other end. Draw 0 only;
// the others are `from`'s.
NoiseDraws varied_draws(NoiseDraws from, NoiseDraws to, double strength);

// hearth's own path (OctavePath).
NoiseIncrements octave_increments(uint64_t seed, uint64_t apart = 1);
// torchsde's (TorchsdePath) between the levels low < high, made of normals of `rng`; one: one tree of the whole batch.
NoiseIncrements torchsde_increments(uint64_t seed, Generators generators, double low, double high, uint64_t apart = 1, Rng rng = Rng::cpu);

}  // namespace hearth::sampling
