// A codec: pixels to the latents that a diffusion model works on, and back.
#pragma once

#include "parts/posterior.h"

namespace hearth::models::diffusion {

// What is known of a codec before its weights are loaded.
struct CodecConfig {
  int64_t latent_channels = 4;
  int64_t factor = 8;     // pixels per latent pixel, each way
  bool draws = true;      // it makes a distribution of an image, which latents are drawn from; else latents alone
  bool encodes = true;    // false: a decoder alone
  int64_t tile = 64;      // side of a tile in latent pixels where nobody says
  int64_t tile_unit = 4;  // sides of tiles are multiples of it
};

class Codec {
 public:
  explicit Codec(const CodecConfig& c) : config(c) {}
  virtual ~Codec() = default;

  // Images [B, H, W, 3] in −1 … 1 → raw latents [B, h, w, C].
  virtual parts::Posterior encode(const Tensor& image) const = 0;
  // Raw latents → those of the diffusion model.
  virtual Tensor to_model(const parts::RawLatents& latents) const = 0;
  // Latents of the diffusion model → images, about −1 … 1, not limited. Tiles have sides of `tile` latent pixels, overlap and are blended.
  virtual Tensor decode(const Tensor& latents) const = 0;
  virtual Tensor decode_in_tiles(const Tensor& latents, int64_t tile) const = 0;

  const CodecConfig config;
};

// A codec that takes and returns tensors of the run's host, and moves them to and from the device that its network is on.
class HostedCodec final : public Codec {
 public:
  HostedCodec(const Codec& codec, Backend& device, Backend& host) : Codec(codec.config), codec_(codec), device_(device), host_(host) {}

  parts::Posterior encode(const Tensor& image) const override;
  Tensor to_model(const parts::RawLatents& latents) const override { return codec_.to_model(latents); }
  Tensor decode(const Tensor& latents) const override;
  Tensor decode_in_tiles(const Tensor& latents, int64_t tile) const override;

 private:
  const Codec& codec_;
  Backend &device_, &host_;
};

}  // namespace hearth::models::diffusion
