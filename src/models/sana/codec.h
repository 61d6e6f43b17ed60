// The codec of SANA: an AutoencoderDC.
#pragma once

#include "models/diffusion/codec.h"
#include "models/sana/autoencoder.h"
#include "weights/checkpoint.h"

namespace hearth::models::sana {

diffusion::CodecConfig codec_config(const AutoencoderDcConfig& config);

class DcCodec final : public diffusion::Codec {
 public:
  DcCodec(const Scope& w, const AutoencoderDcConfig& c) : Codec(codec_config(c)), network(w, c) {}

  parts::Posterior encode(const Tensor& image) const override { return {network.encode(image), {}}; }
  // Tiles overlap by an eighth, as in the reference. UsageError unless `tile` is a multiple of 8.
  parts::Posterior encode_in_tiles(const Tensor& image, int64_t tile) const override;
  Tensor to_model(const parts::RawLatents& latents) const override;
  Tensor decode(const Tensor& latents) const override;
  Tensor decode_in_tiles(const Tensor& latents, int64_t tile) const override;

  const AutoencoderDc network;
};

}  // namespace hearth::models::sana
