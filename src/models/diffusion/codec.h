// A codec: converts pixels to the latents of a diffusion model and back.
#pragma once

#include <optional>

#include "parts/posterior.h"

namespace hearth::models::diffusion {

// Properties of a codec, known before its weights are loaded.
struct CodecConfig {
  int64_t latent_channels = 4;
  int64_t factor = 8;     // pixels per latent pixel, each way
  bool draws = true;      // encoding gives a distribution that latents are drawn from; else latents directly
  bool encodes = true;    // false: decoder only
  int64_t tile = 64;      // default side of a tile, in latent pixels
  int64_t tile_unit = 4;  // tile sides are multiples of this
};

class Codec {
 public:
  explicit Codec(const CodecConfig& c) : config(c) {}
  virtual ~Codec() = default;

  // Images [B, H, W, 3] in −1 … 1 → raw latents [B, h, w, C]. Tiles as for decode().
  virtual parts::Posterior encode(const Tensor& image) const = 0;
  virtual parts::Posterior encode_in_tiles(const Tensor& image, int64_t tile) const = 0;
  // Raw latents → those of the diffusion model.
  virtual Tensor to_model(const parts::RawLatents& latents) const = 0;
  // Latents of the diffusion model → images, about −1 … 1, not clamped. Tiles have sides of `tile` latent pixels, overlap and are blended.
  virtual Tensor decode(const Tensor& latents) const = 0;
  virtual Tensor decode_in_tiles(const Tensor& latents, int64_t tile) const = 0;

  const CodecConfig config;
};

// A codec for a run: inputs and outputs are tensors of the run's host, which it moves to and from its network's device. It works in tiles
// of `tile` latent pixels if given.
class HostedCodec {
 public:
  HostedCodec(const Codec& codec, Backend& device, Backend& host, std::optional<int64_t> tile = {})
      : config(codec.config), codec_(codec), device_(device), host_(host), tile_(tile) {}

  parts::Posterior encode(const Tensor& image) const;
  Tensor to_model(const parts::RawLatents& latents) const { return codec_.to_model(latents); }
  Tensor decode(const Tensor& latents) const;

  const CodecConfig config;

 private:
  const Codec& codec_;
  Backend &device_, &host_;
  std::optional<int64_t> tile_;
};

}  // namespace hearth::models::diffusion
