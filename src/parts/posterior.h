// The output of an autoencoder's encoder.
#pragma once

#include <vector>

#include "core/tensor.h"

namespace hearth::parts {

// Latents in the autoencoder's own space, before shift and scale.
struct RawLatents {
  Tensor z;  // [B, H, W, latent_channels]
};

// The encoder's output: a diagonal normal distribution over raw latents, or a single latent if it has no variance.
struct Posterior {
  Tensor mean, logvar;  // [B, H, W, latent_channels]; logvar as the network outputs it, undefined if it has none

  RawLatents mode() const { return {mean}; }
  // exp(½ · logvar), logvar clamped to −30 … 20, which is part of the published definition. Zeros without a logvar.
  std::vector<float> deviation() const;
  // mean + deviation · noise; noise [B, H, W, latent_channels] standard normal. ShapeError for another shape.
  RawLatents sample(const Tensor& noise) const;
};

// UsageError unless the side of a tile, in latent pixels, is a multiple of `unit`.
void check_tile(int64_t tile, int64_t unit);

}  // namespace hearth::parts
