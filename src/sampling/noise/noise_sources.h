// Named sources of noise. Values are drawn in the order of [B, C, H, W], as in PyTorch, and returned channels last. No source depends on
// the number of threads; per-image sources do not depend on the batch: image k has seed + apart·k.
#pragma once

#include <cstdint>
#include <optional>

#include "hearth/choices.h"
#include "sampling/noise/noise.h"

namespace hearth::sampling {

using hearth::Rng;  // nv: counter_normals.h

// What a program draws for the posteriors of encoded images from the run's generators, one image per draw: `before` draws ahead of draw 0,
// and `after` draws behind it. Per-image generators each make these draws; a single generator makes them for one image only, except the
// first `controls` of those ahead and number `of_batch`, which it makes for the whole batch.
struct EncodingDraws {
  int64_t before = 0, after = 0;
  int64_t controls = 0;  // for the images of control networks
  std::optional<int64_t> of_batch = {};

  bool for_batch(int64_t number) const { return number < controls || number == of_batch; }
};

// PyTorch's CPU generator, one draw after the other.
NoiseDraws torch_draws(uint64_t seed, Generators generators, EncodingDraws encodings = {}, uint64_t apart = 1);
// The draws for the posteriors, starting with number 0: [B, H, W, C], or [1, H, W, C] from one generator that draws for one image. `shape`
// is draw 0's; `skips_first`: draw 0 is not made because it is given.
Tensor torch_encoding_draw(uint64_t seed, Generators generators, EncodingDraws encodings, Backend& device, const Shape& shape,
                           int64_t number, bool skips_first, uint64_t apart = 1);
// One such generator for single images in sequence: image k of a batch is its draw number first_image + k. (ComfyUI with batch
// indices; if an image has a multiple of 16 values, drawing the whole batch at once gives the same.) Draw 0 only.
NoiseDraws torch_indexed_draws(uint64_t seed, int64_t first_image);
// A1111's "NV" source, draw by draw.
NoiseDraws nv_draws(uint64_t seed, uint64_t apart = 1);
// hearth's own, counter-based: image k has seed + k.
NoiseDraws counter_draws(uint64_t seed);

// Draw 0 from `first`, draw k ≥ 1 is draw number k − 1 of `rest`.
NoiseDraws first_then(NoiseDraws first, NoiseDraws rest);
// Draw 0 from `first`, the others from `draws`.
NoiseDraws first_replaced(NoiseDraws first, NoiseDraws draws);
// Draw 0 is `given` [B, C, H, W] f32; there are no others. ShapeError if another shape is requested.
NoiseDraws given_draw(const Tensor& given);

// A1111's variations: interpolates by `strength` from the draws of `from` to those of `to`, spherically. The angle is taken between the
// columns of a channel; if they are nearly parallel (mean cosine above 0.9995), the interpolation is linear, with its weights swapped.
// Draw 0 only; the others are those of `from`.
NoiseDraws varied_draws(NoiseDraws from, NoiseDraws to, double strength);

// hearth's own path (OctavePath).
NoiseIncrements octave_increments(uint64_t seed, uint64_t apart = 1);
// torchsde's path (TorchsdePath) between the levels low < high, from normals of `rng`; one: a single tree for the whole batch.
NoiseIncrements torchsde_increments(uint64_t seed, Generators generators, double low, double high, uint64_t apart = 1, Rng rng = Rng::cpu);

}  // namespace hearth::sampling
