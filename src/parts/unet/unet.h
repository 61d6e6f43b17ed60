// UNet2DConditionModel of Stable Diffusion 1.x, 2.x and XL (Ronneberger et al. 2015; Rombach et al. 2022, arXiv 2112.10752;
// Podell et al. 2023, arXiv 2307.01952), after diffusers 0.39. The checkpoint's config determines its blocks and sizes
// (unet/config.h).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "parts/unet/encoder.h"

namespace hearth::parts {

// What networks beside the UNet add to it.
struct UnetResiduals {
  std::vector<Tensor> skips;  // of ControlNets, each of the shape of its skip (UnetEncoder::Outputs), or [B, 1, 1, C]; empty: none
  Tensor mid;                 // the same for the middle block's output
  // Of T2I-Adapters, one for each down block from the first on (DownBlock), and after them one for the middle block's output if the shapes
  // are equal; further ones are not used, as in the reference.
  std::vector<Tensor> features;
};

// UpBlock2D, or CrossAttnUpBlock2D if it attends. Takes its skips from the end of `skips`, and upsamples to the size of the
// skip that the next block will take: exact doubling, unless a side was odd in the down path.
// x [B, H, W, C of the level below] → [B, H', W', C], or [B, H, W, C] on level 0.
struct UpBlock {
  UpBlock(const Scope& w, const UnetConfig& config, size_t level);
  Tensor operator()(Tensor x, const Tensor& temb, const UnetContext& context, std::vector<Tensor>& skips, int64_t identity = 0) const;

  std::vector<nn::ResnetBlock> resnets;
  std::vector<SpatialTransformer> attentions;
  std::optional<nn::Conv2d> upsampler;  // upsamplers.0.conv; not on level 0
  std::string path;
};

struct Unet {
  Unet(const Scope& w, const UnetConfig& config);

  // x [B, H, W, in_channels]; timesteps: one for all, or one per image, on the training scale 0 … 999, fractional allowed
  // → [B, H, W, out_channels]. Any H and W. ShapeError if the shapes do not match. Taps have diffusers' module paths.
  Tensor operator()(const Tensor& x, std::span<const float> timesteps, const UnetConditions& given, const Perturbed& perturbed = {},
                    const UnetResiduals& residuals = {}) const;

  UnetEncoder encoder;
  std::vector<UpBlock> up_blocks;  // up_blocks.0 is the last level's
  nn::GroupNorm conv_norm_out;
  nn::Conv2d conv_out;
};

}  // namespace hearth::parts
