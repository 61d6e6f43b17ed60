// FLUX.2's autoencoder, after diffusers' AutoencoderKLFlux2, 0.39.0: an AutoencoderKL whose latents are put together from 2×2 pixels, and
// normalized by the statistics of a batch norm.
//
//   image → AutoencoderKL → z [B, 2·h, 2·w, C] → [B, h, w, 4·C] (c, dy, dx) → (x − running_mean) / √(running_var + eps)
#pragma once

#include "models/diffusion/codec.h"
#include "parts/autoencoder_kl/autoencoder_kl.h"

namespace hearth::models::flux2 {

struct CodecSettings {
  parts::AutoencoderKlConfig network;  // its latents are not scaled
  double eps = 1e-4;                   // batch_norm_eps
  diffusion::CodecConfig codec;

  // Errors of the network's own reader; UnsupportedError for other patches, and a decoder with widths of its own.
  static CodecSettings from(const Config& config, bool encodes);
};

class PatchAutoencoder final : public diffusion::Codec {
 public:
  PatchAutoencoder(const Scope& w, const CodecSettings& settings);

  // The posterior of z: the reference's pipelines take its mode, so that there is no deviation.
  parts::Posterior encode(const Tensor& image) const override;
  parts::Posterior encode_in_tiles(const Tensor& image, int64_t tile) const override;
  Tensor to_model(const parts::RawLatents& latents) const override;
  Tensor decode(const Tensor& latents) const override;
  Tensor decode_in_tiles(const Tensor& latents, int64_t tile) const override;

 private:
  Tensor raw(const Tensor& latents) const;

  parts::AutoencoderKl network_;
  std::vector<float> mean_, deviation_;  // [4·C]; empty if the weights are not read
};

// z [B, 2·h, 2·w, C] → [B, h, w, 4·C], the channel outermost (c, dy, dx); and the reverse. ShapeError for odd sides.
Tensor patched(const Tensor& z);
Tensor unpatched(const Tensor& latents);

}  // namespace hearth::models::flux2
