// What an autoencoder's encoder says of an image.
#pragma once

#include <vector>

#include "core/tensor.h"

namespace hearth::parts {

// Latents in the autoencoder's own space, before shift and scale.
struct RawLatents {
  Tensor z;  // [B, H, W, latent_channels]
};

// The encoder's answer: a diagonal normal distribution over raw latents, or one latent where it gives no variance.
struct Posterior {
  Tensor mean, logvar;  // [B, H, W, latent_channels]; logvar as the network gave it, undefined where it gives none

  RawLatents mode() const { return {mean}; }
  // exp(½ · logvar), logvar limited to −30 … 20: part of the published definition, not a repair. Zeros without a logvar.
  std::vector<float> deviation() const;
  // mean + deviation · noise; noise [B, H, W, latent_channels] standard normal. ShapeError for another shape.
  RawLatents sample(const Tensor& noise) const;
};

}  // namespace hearth::parts
