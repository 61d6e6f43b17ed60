// The autoencoder of a checkpoint, whichever of the two kinds it is: AutoencoderKL, or the small AutoencoderTiny (TAESD) in its place.
#pragma once

#include <variant>

#include "parts/autoencoder_kl/autoencoder_kl.h"
#include "parts/autoencoder_tiny/autoencoder_tiny.h"
#include "weights/checkpoint.h"

namespace hearth::models::stable_diffusion {

struct VaeConfig {
  std::variant<parts::AutoencoderKlConfig, parts::AutoencoderTinyConfig> network;
  int64_t in_channels = 3, out_channels = 3;  // of pictures
  int64_t latent_channels = 4;
  float scaling_factor = 1;
  bool draws = true;      // what it makes of a picture is a distribution to draw latents from
  bool encodes = true;    // false: a decoder alone
  int64_t tile = 64;      // side in latent pixels where nobody says
  int64_t tile_unit = 4;  // sides of tiles are multiples of it

  int64_t factor() const { return factor_; }  // picture pixels per latent pixel, each way

  // Of the component `vae`, an AutoencoderKL or AutoencoderTiny. Errors of the network's own reader; WeightError where a small one's
  // encoder and decoder change the size by different factors.
  static VaeConfig from(const Checkpoint& checkpoint);

 private:
  int64_t factor_ = 8;
};

struct Vae {
  Vae(const Scope& w, const VaeConfig& config);

  // As both kinds have them: pictures [B, H, W, 3] in −1 … 1, raw latents and the diffusion model's [B, h, w, C].
  parts::Posterior encode(const Tensor& picture) const;
  Tensor to_model(const parts::RawLatents& latents) const;
  Tensor decode(const Tensor& latents) const;
  Tensor decode_in_tiles(const Tensor& latents, int64_t tile) const;

  VaeConfig config;
  std::variant<parts::AutoencoderKl, parts::AutoencoderTiny> network;
};

}  // namespace hearth::models::stable_diffusion
