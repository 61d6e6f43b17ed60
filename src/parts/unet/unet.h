// UNet2DConditionModel of Stable Diffusion 1.x and 2.x (Ronneberger et al. 2015; Rombach et al. 2022, arXiv 2112.10752),
// after diffusers 0.39. Which blocks and sizes it has is the checkpoint's config's business (unet/config.h).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "nn/resnet_block.h"
#include "parts/unet/config.h"
#include "parts/unet/transformer.h"

namespace hearth::parts {

// Perturbed attention (Ahn et al. 2024, arXiv 2403.17377): in the last `images` of a batch the self-attention of some blocks takes each
// token's own value for what it finds.
struct Perturbed {
  UnetConfig::Blocks blocks = UnetConfig::Blocks::mid;
  int64_t images = 0;
};

// DownBlock2D, or CrossAttnDownBlock2D where it attends.
// x [B, H, W, in], temb [B, temb] activated, context [B, S, Cx] → [B, ⌈H/2⌉, ⌈W/2⌉, C], or [B, H, W, C] on the last level.
// Every layer's output and the halved one are left in `skips`. `identity` as for TransformerBlock, here and below.
struct DownBlock {
  DownBlock(const Scope& w, const UnetConfig& config, size_t level);
  Tensor operator()(Tensor x, const Tensor& temb, const Tensor& context, std::vector<Tensor>& skips, int64_t identity = 0) const;

  std::vector<nn::ResnetBlock> resnets;
  std::vector<SpatialTransformer> attentions;  // one per residual block, or none
  std::optional<nn::Conv2d> downsampler;       // downsamplers.0.conv; not on the last level
  std::string path;
};

// UNetMidBlock2DCrossAttn, or UNetMidBlock2D: its first residual block alone. x [B, H, W, C] → the same shape.
struct MidBlock {
  MidBlock(const Scope& w, const UnetConfig& config);
  Tensor operator()(const Tensor& x, const Tensor& temb, const Tensor& context, int64_t identity = 0) const;

  std::vector<nn::ResnetBlock> resnets;         // two with, one without attention
  std::optional<SpatialTransformer> attention;  // attentions.0
  std::string path;
};

// UpBlock2D, or CrossAttnUpBlock2D where it attends. Takes its skips from the end of `skips`, and grows to the size of the
// skip that the next block will take: exact doubling, unless a side was odd on the way down.
// x [B, H, W, C of the level below] → [B, H', W', C], or [B, H, W, C] on level 0.
struct UpBlock {
  UpBlock(const Scope& w, const UnetConfig& config, size_t level);
  Tensor operator()(Tensor x, const Tensor& temb, const Tensor& context, std::vector<Tensor>& skips, int64_t identity = 0) const;

  std::vector<nn::ResnetBlock> resnets;
  std::vector<SpatialTransformer> attentions;
  std::optional<nn::Conv2d> upsampler;  // upsamplers.0.conv; not on level 0
  std::string path;
};

struct Unet {
  Unet(const Scope& w, const UnetConfig& config);

  // x [B, H, W, in_channels]; timesteps: one for all, or one per image, on the training scale 0 … 999, fractional allowed;
  // context [B, S, config.context] (may be undefined where that is 0) → [B, H, W, out_channels].
  // Any H and W. ShapeError where they do not fit. Taps carry diffusers' module paths.
  Tensor operator()(const Tensor& x, std::span<const float> timesteps, const Tensor& context, const Perturbed& perturbed = {}) const;

  UnetConfig config;
  nn::Linear time_embedding_1, time_embedding_2;  // time_embedding.linear_1, .linear_2
  nn::Conv2d conv_in;
  std::vector<DownBlock> down_blocks;
  std::optional<MidBlock> mid_block;
  std::vector<UpBlock> up_blocks;  // up_blocks.0 is the last level's
  nn::GroupNorm conv_norm_out;
  nn::Conv2d conv_out;

 private:
  Tensor time_embedding(Backend& backend, std::span<const float> timesteps, int64_t B) const;
};

}  // namespace hearth::parts
