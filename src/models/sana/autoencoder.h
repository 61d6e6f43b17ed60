// The deep compression autoencoder of SANA (Chen et al. 2024, arXiv 2410.10733), after AutoencoderDC of diffusers 0.39.0: 32 times fewer
// positions each way, without a distribution.
//
//   image [B, H, W, 3] ─ conv_in ─ levels of residual or attention blocks, each half as large ─ conv_out ─ z [B, H/32, W/32, 32]
//
// Beside each change of resolution, and beside conv_in or conv_out at the latents, a shortcut rearranges pixels into channels or back, and
// averages or repeats channels.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "models/sana/autoencoder_config.h"
#include "models/sana/gated_conv.h"
#include "weights/deferred.h"

namespace hearth::models::sana {

// x + norm(conv2(act(conv1(x)))).   x [B, H, W, C] → the same shape
struct DcResBlock {
  DcResBlock(const Scope& w, const DcLevel& level);
  Tensor operator()(const Tensor& x) const;

  nn::Conv2d conv1, conv2;
  ShiftedRmsNorm norm;
  Activation activation;
  std::string path;
};

// Queries, keys and values of a further scale: a depthwise convolution of them all, then a product within each head.
struct DcScale {
  DcScale(const Scope& w, int64_t channels, int64_t heads, int64_t kernel);
  Tensor operator()(const Tensor& qkv) const { return proj_out(proj_in(qkv)); }

  nn::Conv2d proj_in, proj_out;
};

// Linear attention with ReLU features at several scales, then a gated convolution.   x [B, H, W, C] → the same shape
struct DcAttentionBlock {
  DcAttentionBlock(const Scope& w, const DcLevel& level, int64_t head_size);
  Tensor operator()(const Tensor& x) const;

  nn::Linear to_q, to_k, to_v, to_out;  // attn.…
  std::vector<DcScale> scales;          // attn.to_qkv_multiscale
  ShiftedRmsNorm norm_out;              // attn.norm_out
  GatedConv conv_out;
  ShiftedRmsNorm conv_norm;  // conv_out.norm
  int64_t head_size;
  std::string path;

 private:
  Tensor attention(const Tensor& x) const;
};

using DcBlock = std::variant<DcResBlock, DcAttentionBlock>;

// Halves the size.   x [B, H, W, in] → [B, H/2, W/2, out]
struct DcDown {
  DcDown(const Scope& w, int64_t in, int64_t out, bool unshuffles, bool shortcut);
  Tensor operator()(const Tensor& x) const;

  nn::Conv2d conv;
  int64_t group;  // channels that the shortcut averages; 0: none
  bool unshuffles;
};

// Doubles the size.   x [B, H, W, in] → [B, 2H, 2W, out]
struct DcUp {
  DcUp(const Scope& w, int64_t in, int64_t out, bool interpolates, bool shortcut);
  Tensor operator()(const Tensor& x) const;

  nn::Conv2d conv;
  int64_t repeats;  // of each channel in the shortcut; 0: none
  bool interpolates;
};

struct DcEncoderLevel {
  std::vector<DcBlock> blocks;
  std::optional<DcDown> down;
};
struct DcDecoderLevel {
  std::optional<DcUp> up;
  std::vector<DcBlock> blocks;
};

// x [B, H, W, image_channels], sides multiples of factor() → z [B, H/f, W/f, latent_channels]
struct DcEncoder {
  DcEncoder(const Scope& w, const AutoencoderDcConfig& config);
  Tensor operator()(const Tensor& x) const;

  std::variant<nn::Conv2d, DcDown> conv_in;
  std::vector<DcEncoderLevel> levels;  // down_blocks
  nn::Conv2d conv_out;
  int64_t group;  // channels that the last shortcut averages; 0: none
  std::string path;
};

// z [B, h, w, latent_channels] → [B, f·h, f·w, image_channels]
struct DcDecoder {
  DcDecoder(const Scope& w, const AutoencoderDcConfig& config);
  Tensor operator()(const Tensor& z) const;

  nn::Conv2d conv_in;
  int64_t repeats;                     // of each latent channel in the first shortcut; 0: none
  std::vector<DcDecoderLevel> levels;  // up_blocks, from the image's size to the smallest: executed from the last to the first
  ShiftedRmsNorm norm_out;
  Activation activation;
  std::variant<nn::Conv2d, DcUp> conv_out;
  std::string path;
};

struct AutoencoderDc {
  AutoencoderDc(const Scope& w, const AutoencoderDcConfig& config);

  // Image [B, H, W, image_channels] in −1 … 1, sides multiples of factor() → z [B, H/f, W/f, latent_channels]; those of the diffusion model
  // are z · scaling_factor. ShapeError for other sides.
  Tensor encode(const Tensor& image) const;
  Tensor decode(const Tensor& z) const;

  AutoencoderDcConfig config;
  Deferred<DcEncoder> encoder;  // most runs only decode
  DcDecoder decoder;
};

}  // namespace hearth::models::sana
