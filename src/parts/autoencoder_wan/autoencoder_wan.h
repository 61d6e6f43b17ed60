// The autoencoder of Qwen-Image and Wan 2.1 (Wan 2025, arXiv 2503.20314), after diffusers' AutoencoderKLQwenImage, 0.39.0, on one frame: an
// image, or the first frame of a video, which depends on no other.
//
// Convolutions over frames act on it by the last slice of their kernels only (FirstFrameConv), and the layers that halve or double the
// number of frames leave it alone: their weights are checked, and not loaded.
#pragma once

#include <optional>
#include <vector>

#include "nn/layers.h"
#include "parts/autoencoder_wan/config.h"
#include "parts/autoencoder_wan/convolution.h"
#include "parts/posterior.h"
#include "weights/deferred.h"

namespace hearth::parts {

// x / ‖x‖ · √C · gamma over the channels.   x [B, H, W, C] → the same shape
struct ChannelNorm {
  // gamma [C, 1, 1], or with an axis of frames [C, 1, 1, 1].
  ChannelNorm(const Scope& w, int64_t channels, bool frames = true);
  Tensor operator()(const Tensor& x) const;

  Tensor gamma;  // [C]
};

// conv2(silu(norm2(conv1(silu(norm1(x)))))) + x, projected where the width changes.   x [B, H, W, in] → [B, H, W, out]
struct WanResnet {
  WanResnet(const Scope& w, int64_t in, int64_t out);
  Tensor operator()(const Tensor& x) const;

  ChannelNorm norm1, norm2;
  FirstFrameConv conv1, conv2;
  std::optional<FirstFrameConv> conv_shortcut;  // 1×1
  std::string path;
};

// One head as wide as the channels, over all positions.   x [B, H, W, C] → the same shape
struct WanAttention {
  WanAttention(const Scope& w, int64_t channels);
  Tensor operator()(const Tensor& x) const;

  ChannelNorm norm;
  nn::Conv2d to_qkv, proj;  // 1×1
  std::string path;
};

// A residual block, attention, a residual block.   x [B, H, W, C] → the same shape
struct WanMidBlock {
  WanMidBlock(const Scope& w, int64_t channels);
  Tensor operator()(const Tensor& x) const { return resnet_1(attention(resnet_0(x))); }

  WanResnet resnet_0;
  WanAttention attention;
  WanResnet resnet_1;
};

// image [B, H, W, image_channels] → moments [B, H/f, W/f, 2·latent_channels], sides rounded down at each halving.
struct WanEncoder {
  WanEncoder(const Scope& w, const AutoencoderWanConfig& config);
  Tensor operator()(const Tensor& image) const;

  struct Level {
    std::vector<WanResnet> resnets;
    std::optional<nn::Conv2d> halving;  // resample.1
    std::string path;                   // of the halving
  };
  FirstFrameConv conv_in;
  std::vector<Level> levels;  // down_blocks, counted through all levels
  WanMidBlock mid_block;
  ChannelNorm norm_out;
  FirstFrameConv conv_out;
  std::string path;
};

// z [B, H, W, latent_channels] → [B, f·H, f·W, image_channels]
struct WanDecoder {
  WanDecoder(const Scope& w, const AutoencoderWanConfig& config);
  Tensor operator()(const Tensor& z) const;

  struct Level {
    std::vector<WanResnet> resnets;
    std::optional<nn::Conv2d> doubling;  // upsamplers.0.resample.1
    std::string path;
  };
  FirstFrameConv conv_in;
  WanMidBlock mid_block;
  std::vector<Level> levels;  // up_blocks; the first has the lowest resolution
  ChannelNorm norm_out;
  FirstFrameConv conv_out;
  std::string path;
};

// (z − mean) / std, the latents of the diffusion model.
Tensor to_model(const AutoencoderWanConfig& config, const RawLatents& latents);

struct AutoencoderWan {
  AutoencoderWan(const Scope& w, const AutoencoderWanConfig& config);

  // Image [B, H, W, image_channels] in −1 … 1, sides of at least config.factor() → posterior [B, ⌊H/f⌋, ⌊W/f⌋, latent_channels].
  Posterior encode(const Tensor& image) const;
  // The same in tiles with sides of `tile` latent pixels, which overlap by a quarter: mean and logvar are blended there, as in the
  // reference's tiled_encode. UsageError unless tile is a multiple of 4.
  Posterior encode_in_tiles(const Tensor& image, int64_t tile) const;
  Tensor to_model(const RawLatents& latents) const { return parts::to_model(config, latents); }
  RawLatents from_model(const Tensor& latents) const;  // the inverse
  // Latents of the diffusion model [B, H, W, latent_channels] → image [B, f·H, f·W, image_channels], about −1 … 1, not clamped.
  Tensor decode(const Tensor& latents) const;
  // The same in tiles with sides of `tile` latent pixels, as the reference's tiled_decode. An image that fits into one tile equals
  // decode()'s. UsageError unless tile is a multiple of 4.
  Tensor decode_in_tiles(const Tensor& latents, int64_t tile) const;

  static constexpr int64_t default_tile = 32;  // in latent pixels, as the reference's

  AutoencoderWanConfig config;
  Deferred<WanEncoder> encoder;  // most runs only decode
  WanDecoder decoder;
  FirstFrameConv quant_conv, post_quant_conv;  // 1×1
};

}  // namespace hearth::parts
