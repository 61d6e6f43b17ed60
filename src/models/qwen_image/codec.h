// Qwen-Image's autoencoder as the codec of a run.
#pragma once

#include "models/diffusion/codec.h"
#include "parts/autoencoder_wan/autoencoder_wan.h"

namespace hearth::models::qwen_image {

diffusion::CodecConfig codec_config(const parts::AutoencoderWanConfig& config);

class WanCodec final : public diffusion::Codec {
 public:
  WanCodec(const Scope& w, const parts::AutoencoderWanConfig& c) : Codec(codec_config(c)), network(w, c) {}

  parts::Posterior encode(const Tensor& image) const override { return network.encode(image); }
  parts::Posterior encode_in_tiles(const Tensor& image, int64_t tile) const override { return network.encode_in_tiles(image, tile); }
  Tensor to_model(const parts::RawLatents& latents) const override { return network.to_model(latents); }
  Tensor decode(const Tensor& latents) const override { return network.decode(latents); }
  Tensor decode_in_tiles(const Tensor& latents, int64_t tile) const override { return network.decode_in_tiles(latents, tile); }

  const parts::AutoencoderWan network;
};

}  // namespace hearth::models::qwen_image
