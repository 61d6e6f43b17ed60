// The network of Stable Cascade's stages C and B (Pernias et al. 2023, arXiv 2306.00637), after StableCascadeUNet of diffusers 0.39.0.
//
//   x [B, h, w, in] ─ patches, 1×1, norm ─ (+ features, + constants) ─ levels, fine to coarse ─ levels, coarse to fine ─ norm, 1×1 ─ y
//   ratio r in 0 … 1 → sinusoids of 10000·r ─ scale and shift of every timestep block
//   text, pooled text, image vectors → rows [B, n, width] ─ keys and values of every attention block, next to its own pixels
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "models/stable_cascade/unet_config.h"
#include "nn/attention.h"
#include "nn/convolutions.h"
#include "weights/blocks.h"

namespace hearth::models::stable_cascade {

// x + out(respond(gelu(in(norm(depthwise(x)) ‖ skip)))) with respond(z) = z + γ·z·n + β, where n is the norm of a channel over all
// positions divided by the mean of all channels (Woo et al. 2023, arXiv 2301.00808).
struct ResidualBlock {
  ResidualBlock(const Scope& w, int64_t channels, int64_t skip, int64_t kernel);
  Tensor operator()(const Tensor& x, const Tensor& skip) const;  // skip: undefined, or [B, H, W, skip]

  nn::DepthwiseConv2d depthwise;
  nn::Linear in;       // channelwise.0 [4·C, C + skip]
  Tensor gamma, beta;  // channelwise.2 [4·C]
  nn::Linear out;      // channelwise.4 [C, 4·C]
};

// x·(1 + a) + b, with (a, b) the sum of a linear function of each embedding.
struct TimestepBlock {
  TimestepBlock(const Scope& w, int64_t channels, const UnetConfig& config);
  Tensor operator()(const Tensor& x, std::span<const Tensor> embeddings) const;  // [B, time] each

  std::vector<nn::Linear> mappers;  // mapper, mapper_sca, mapper_crp
};

// x + attention(norm(x), norm(x) ‖ mapped rows)
struct AttentionBlock {
  AttentionBlock(const Scope& w, const UnetConfig::Level& level, int64_t width);
  Tensor operator()(const Tensor& x, const Tensor& rows) const;  // rows [B, n, width], activated

  nn::Attention attention;
  nn::Linear mapper;  // kv_mapper.1
  bool self;
};

struct Block {
  Block(const Scope& w, BlockKind kind, const UnetConfig& config, const UnetConfig::Level& level, int64_t skip);
  std::variant<ResidualBlock, TimestepBlock, AttentionBlock> block;
  bool takes_skip = false;
  std::string path;
};

// The way from one level to another: a norm, and a convolution with a resize before (up) or after it (down), or one that resizes.
struct Passage {
  Passage(const Scope& w, int64_t from, int64_t to, const UnetConfig& config, size_t finer, bool down);
  Tensor operator()(const Tensor& x) const;

  std::variant<nn::Conv2d, nn::TransposedConv2d> convolution;  // 1.…
  bool down, resizes;
};

struct Level {
  std::optional<Passage> passage;  // into the level on the way down, out of it on the way up
  Blocks<Block> blocks;
  std::vector<nn::Conv2d> repeats;  // 1×1, between runs of all blocks
};

// 1×1, GELU, 1×1, norm.   x [B, H, W, in] → [B, H, W, out]
struct Mapper {
  Mapper(const Scope& w, int64_t in, int64_t out);
  Tensor operator()(const Tensor& x) const;

  nn::Conv2d first, last;  // 0, 2
};

struct UnetInputs {
  float ratio = 1;       // of all images
  Tensor pooled;         // [B, pooled]
  Tensor text = {};      // [B, T, text], of networks that take it, and then
  Tensor image = {};     // [B, n, image]: vectors of images, zeros if there are none
  Tensor features = {};  // [B, h', w', features], of networks that take them
};

struct Unet {
  Unet(const Scope& w, const UnetConfig& config);

  // x [B, h, w, in_channels], sides multiples of the patch → [B, h, w, out_channels]. ShapeError if the shapes do not match. Taps:
  // "embedding", "clip_norm", "effnet_mapper", the blocks' paths, "clf".
  Tensor operator()(const Tensor& x, const UnetInputs& inputs) const;

  UnetConfig config;
  nn::Linear pooled_mapper;                              // clip_txt_pooled_mapper [rows·width, pooled]
  std::optional<nn::Linear> text_mapper;                 // clip_txt_mapper [width, text]
  std::optional<nn::Linear> image_mapper;                // clip_img_mapper [rows·width, image]
  std::optional<Mapper> features_mapper, pixels_mapper;  // effnet_mapper, pixels_mapper
  nn::Conv2d embedding;                                  // embedding.1
  std::vector<Level> down, up;                           // fine to coarse; coarse to fine
  nn::Conv2d last;                                       // clf.1

 private:
  void check(const Tensor& x, const UnetInputs& inputs) const;
  Tensor condition(const UnetInputs& inputs) const;
};

}  // namespace hearth::models::stable_cascade
