// The codec of most families: an AutoencoderKL, or the small AutoencoderTiny (TAESD) that replaces it.
#pragma once

#include <variant>

#include "models/diffusion/codec.h"
#include "parts/autoencoder_kl/autoencoder_kl.h"
#include "parts/autoencoder_tiny/autoencoder_tiny.h"
#include "weights/checkpoint.h"

namespace hearth::models::diffusion {

struct AutoencoderConfig {
  std::variant<parts::AutoencoderKlConfig, parts::AutoencoderTinyConfig> network;
  CodecConfig codec;
  int64_t in_channels = 3, out_channels = 3;  // of images
  float scaling_factor = 1, shift_factor = 0;

  // Reads the component `vae`, an AutoencoderKL or AutoencoderTiny. Errors of the network's own reader; WeightError if the encoder and
  // decoder of a small one scale the size by different factors.
  static AutoencoderConfig from(const Checkpoint& checkpoint);
};

// WeightError unless both have the same latents. `where`: names the refiner's configuration in messages.
void require_same_latents(const AutoencoderConfig& refiner, const AutoencoderConfig& base, const std::string& where);

class Autoencoder final : public Codec {
 public:
  Autoencoder(const Scope& w, const AutoencoderConfig& config);

  parts::Posterior encode(const Tensor& image) const override;
  parts::Posterior encode_in_tiles(const Tensor& image, int64_t tile) const override;
  Tensor to_model(const parts::RawLatents& latents) const override;
  Tensor decode(const Tensor& latents) const override;
  Tensor decode_in_tiles(const Tensor& latents, int64_t tile) const override;

  const std::variant<parts::AutoencoderKl, parts::AutoencoderTiny> network;
};

}  // namespace hearth::models::diffusion
