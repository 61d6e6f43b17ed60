// AutoencoderKL: converts images to latents and back (Rombach et al. 2022, arXiv 2112.10752), after diffusers 0.39.
//
// There are two spaces: the autoencoder's own latents z, and the diffusion model's latents, which are shifted and scaled.
// Only this class converts between them. z is passed as RawLatents (parts/posterior.h), which decode() does not accept.
#pragma once

#include <optional>
#include <vector>

#include "nn/attention.h"
#include "nn/resnet_block.h"
#include "parts/autoencoder_kl/config.h"
#include "parts/posterior.h"
#include "weights/deferred.h"

namespace hearth::parts {

// One head as wide as the channels, over all positions. x [B, H, W, C] → the same shape.
struct VaeAttention {
  VaeAttention(const Scope& w, int64_t channels, int64_t groups);
  Tensor operator()(const Tensor& x) const;

  nn::GroupNorm group_norm;
  nn::Attention attention;
  std::string path;
};

// A residual block, attention, a residual block. x [B, H, W, C] → the same shape.
struct VaeMidBlock {
  VaeMidBlock(const Scope& w, const AutoencoderKlConfig& config);
  Tensor operator()(Tensor x) const;

  nn::ResnetBlock resnet_0;
  std::optional<VaeAttention> attention;  // attentions.0
  nn::ResnetBlock resnet_1;
  std::string path;
};

// Residual blocks, then the resolution is halved or doubled, except at the end of the encoder or decoder.
struct VaeBlock {
  std::vector<nn::ResnetBlock> resnets;
  std::optional<nn::Conv2d> resample;  // downsamplers.0.conv or upsamplers.0.conv
  std::string path;
};

// x [B, H, W, in_channels] → moments [B, H/f, W/f, 2·latent_channels], sides rounded down at each halving.
struct VaeEncoder {
  VaeEncoder(const Scope& w, const AutoencoderKlConfig& config);
  Tensor operator()(const Tensor& x) const;

  nn::Conv2d conv_in;
  std::vector<VaeBlock> down_blocks;
  VaeMidBlock mid_block;
  nn::GroupNorm conv_norm_out;
  nn::Conv2d conv_out;
  std::string path;
};

// z [B, H, W, latent_channels] → [B, f·H, f·W, out_channels]
struct VaeDecoder {
  VaeDecoder(const Scope& w, const AutoencoderKlConfig& config);
  Tensor operator()(const Tensor& z) const;

  nn::Conv2d conv_in;
  VaeMidBlock mid_block;
  std::vector<VaeBlock> up_blocks;  // up_blocks.0 is the last level's
  nn::GroupNorm conv_norm_out;
  nn::Conv2d conv_out;
  std::string path;
};

// The side of a tile in latent pixels: sample_size, rounded down to a multiple of 4, at least 4.
int64_t default_tile(const AutoencoderKlConfig& config);

struct AutoencoderKl {
  AutoencoderKl(const Scope& w, const AutoencoderKlConfig& config);

  // Image [B, H, W, in_channels] in −1 … 1, sides of at least config.factor() → posterior [B, ⌊H/f⌋, ⌊W/f⌋, latent_channels].
  Posterior encode(const Tensor& image) const;
  // The same in tiles of decode_in_tiles()'s size, as in the reference's tiled encoding: mean and logvar of tiles are blended. An image
  // that fits into one tile has encode()'s posterior. UsageError unless tile is a multiple of 4.
  Posterior encode_in_tiles(const Tensor& image, int64_t tile) const;
  // (z − shift) · scaling, or (z − mean) · scaling / std: the diffusion model's latents.
  Tensor to_model(const RawLatents& latents) const;
  RawLatents from_model(const Tensor& latents) const;  // the inverse
  // Latents of the diffusion model [B, H, W, latent_channels] → image [B, f·H, f·W, out_channels], about −1 … 1, not clamped.
  Tensor decode(const Tensor& latents) const;
  // The same in tiles with sides of `tile` latent pixels, which overlap by a quarter and are blended there, as in the
  // reference's tiled_decode. It needs memory for one tile only, but each tile has its own norm statistics, so the image differs from
  // decode()'s. An image that fits into one tile equals decode()'s. UsageError unless tile is a multiple of 4.
  Tensor decode_in_tiles(const Tensor& latents, int64_t tile) const;

  AutoencoderKlConfig config;
  Deferred<VaeEncoder> encoder;  // most runs only decode
  VaeDecoder decoder;
  std::optional<nn::Conv2d> quant_conv, post_quant_conv;  // 1×1
};

}  // namespace hearth::parts
