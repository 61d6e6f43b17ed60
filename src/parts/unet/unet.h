// UNet2DConditionModel of Stable Diffusion 1.x, 2.x and XL (Ronneberger et al. 2015; Rombach et al. 2022, arXiv 2112.10752;
// Podell et al. 2023, arXiv 2307.01952), after diffusers 0.39. The checkpoint's config determines its blocks and sizes
// (unet/config.h).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "nn/resnet_block.h"
#include "parts/unet/config.h"
#include "parts/unet/transformer.h"

namespace hearth::parts {

// The UNet's conditioning besides the timestep; undefined if its config has no input for it.
struct UnetConditions {
  Tensor context;   // [B, S, config.context]: text states
  Tensor added;     // [B, config.added]: pooled_and_sizes()
  Tensor guidance;  // [B, config.guidance]: guidance_embedding()
};

// Pooled text [1, P] f32, followed by numbers such as the image's size in pixels, each as a sinusoid → [1, config.added].
// ShapeError if they do not fit.
Tensor pooled_and_sizes(const UnetConfig& config, const Tensor& pooled, std::span<const float> sizes);

// For a network distilled with guidance (Meng et al. 2023, arXiv 2210.03142): sinusoid of 1000·(scale − 1), as in the reference's
// get_guidance_scale_embedding → [1, config.guidance].
Tensor guidance_embedding(const UnetConfig& config, Backend& backend, double scale);

// Perturbed attention (Ahn et al. 2024, arXiv 2403.17377): in the last `images` of a batch the self-attention of some blocks outputs each
// token's own value.
struct Perturbed {
  UnetConfig::Blocks blocks = UnetConfig::Blocks::mid;
  int64_t images = 0;
};

// DownBlock2D, or CrossAttnDownBlock2D if it attends.
// x [B, H, W, in], temb [B, temb] activated, context [B, S, Cx] → [B, ⌈H/2⌉, ⌈W/2⌉, C], or [B, H, W, C] on the last level.
// Appends every layer's output and the halved one to `skips`. `identity` as for TransformerBlock, here and below.
struct DownBlock {
  DownBlock(const Scope& w, const UnetConfig& config, size_t level);
  Tensor operator()(Tensor x, const Tensor& temb, const Tensor& context, std::vector<Tensor>& skips, int64_t identity = 0) const;

  std::vector<nn::ResnetBlock> resnets;
  std::vector<SpatialTransformer> attentions;  // one per residual block, or none
  std::optional<nn::Conv2d> downsampler;       // downsamplers.0.conv; not on the last level
  std::string path;
};

// UNetMidBlock2DCrossAttn, or UNetMidBlock2D, of which only the first residual block is used. x [B, H, W, C] → the same shape.
struct MidBlock {
  MidBlock(const Scope& w, const UnetConfig& config);
  Tensor operator()(const Tensor& x, const Tensor& temb, const Tensor& context, int64_t identity = 0) const;

  std::vector<nn::ResnetBlock> resnets;         // two with, one without attention
  std::optional<SpatialTransformer> attention;  // attentions.0
  std::string path;
};

// UpBlock2D, or CrossAttnUpBlock2D if it attends. Takes its skips from the end of `skips`, and upsamples to the size of the
// skip that the next block will take: exact doubling, unless a side was odd in the down path.
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

  // x [B, H, W, in_channels]; timesteps: one for all, or one per image, on the training scale 0 … 999, fractional allowed
  // → [B, H, W, out_channels]. Any H and W. ShapeError if the shapes do not match. Taps have diffusers' module paths.
  Tensor operator()(const Tensor& x, std::span<const float> timesteps, const UnetConditions& given, const Perturbed& perturbed = {}) const;

  UnetConfig config;
  nn::Linear time_embedding_1, time_embedding_2;  // time_embedding.linear_1, .linear_2
  std::optional<nn::Linear> cond_proj;            // time_embedding.cond_proj, no bias
  std::optional<nn::Linear> add_embedding_1, add_embedding_2;
  nn::Conv2d conv_in;
  std::vector<DownBlock> down_blocks;
  std::optional<MidBlock> mid_block;
  std::vector<UpBlock> up_blocks;  // up_blocks.0 is the last level's
  nn::GroupNorm conv_norm_out;
  nn::Conv2d conv_out;

 private:
  void check(const Tensor& x, std::span<const float> timesteps, const UnetConditions& given) const;
  Tensor time_embedding(Backend& backend, std::span<const float> timesteps, const UnetConditions& given, int64_t B) const;
};

}  // namespace hearth::parts
