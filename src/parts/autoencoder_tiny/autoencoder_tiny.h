// AutoencoderTiny: a small replacement of a diffusion model's autoencoder (TAESD, Ollin Boer Bohan 2023, MIT), after diffusers
// 0.39. It has no norms and no attention, and its latents are the diffusion model's own.
#pragma once

#include <optional>
#include <vector>

#include "nn/layers.h"
#include "parts/autoencoder_tiny/config.h"
#include "parts/posterior.h"
#include "weights/deferred.h"

namespace hearth::parts {

// relu(conv(act(conv(act(conv(x))))) + x).   x [B, H, W, C] → the same shape
struct TinyBlock {
  TinyBlock(const Scope& w, int64_t channels, Activation activation);
  Tensor operator()(const Tensor& x) const;

  nn::Conv2d conv_0, conv_2, conv_4;  // conv.0, conv.2, conv.4
  Activation activation;
  std::string path;
};

// A convolution, with residual blocks after it (encoder) or before it (decoder).
struct TinyLevel {
  nn::Conv2d conv;
  std::vector<TinyBlock> blocks;
};

// Image [B, H, W, in_channels] in −1 … 1 → latents [B, H', W', latent_channels]; each level except the first halves the sides, rounded up.
struct TinyEncoder {
  TinyEncoder(const Scope& w, const AutoencoderTinyConfig& config);
  Tensor operator()(const Tensor& image) const;

  std::vector<TinyLevel> levels;  // the last one is the convolution to latents, without blocks
  std::string path;
};

// z [B, H, W, latent_channels] → image [B, f·H, f·W, out_channels], about −1 … 1, not clamped.
struct TinyDecoder {
  TinyDecoder(const Scope& w, const AutoencoderTinyConfig& config);
  Tensor operator()(const Tensor& z) const;

  nn::Conv2d conv_in;
  std::vector<TinyLevel> levels;  // the last one's convolution outputs the image
  Activation activation;          // after conv_in
  int64_t upsampling;             // before the convolution of each level except the last
  std::string path;
};

// The halves that are present: the author publishes encoder and decoder as separate files.
enum class TinyHalves { both, decoder };

// Latents of the diffusion model → the decoder's: z / scaling + shift.
Tensor raw_latents(const Tensor& latents, const AutoencoderTinyConfig& config);

// The side of a tile in latent pixels: 512 pixels of the image, rounded down to a multiple of 8, at least 8.
int64_t default_tile(const AutoencoderTinyConfig& config);

struct AutoencoderTiny {
  AutoencoderTiny(const Scope& w, const AutoencoderTinyConfig& config, TinyHalves halves = TinyHalves::both);

  // Image [B, H, W, in_channels] in −1 … 1 → its latent [B, H/f, W/f, latent_channels], without a variance. ShapeError for another
  // number of channels, UnsupportedError if there is only a decoder.
  Posterior encode(const Tensor& image) const;
  // The same in tiles of decode_in_tiles()'s size, which are blended, as in the reference (with 4 latent channels; it has a fault with
  // others).
  Posterior encode_in_tiles(const Tensor& image, int64_t tile) const;
  // (latent − shift) · scaling: the diffusion model's latents.
  Tensor to_model(const RawLatents& latents) const;
  // Latents of the diffusion model [B, H, W, latent_channels] → image [B, f·H, f·W, out_channels], about −1 … 1, not clamped. ShapeError
  // for another number of channels.
  Tensor decode(const Tensor& latents) const;
  // The same in tiles with sides of `tile` latent pixels, which overlap by an eighth, each blended into those before it, as in the
  // reference. It needs memory for one tile besides the image. An image that fits into one tile equals decode()'s (in the reference only
  // one that fits into seven eighths of it). UsageError unless tile is a multiple of 8.
  Tensor decode_in_tiles(const Tensor& latents, int64_t tile) const;

  AutoencoderTinyConfig config;
  std::optional<Deferred<TinyEncoder>> encoder;  // most runs only decode
  TinyDecoder decoder;
};

}  // namespace hearth::parts
