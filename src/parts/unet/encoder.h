// The half of a UNet2DConditionModel that a ControlNet copies: time embedding, first convolution, down blocks and middle block.
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
  std::span<const ImagePrompt> images = {};
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

// Of the UNet's residual blocks.
inline nn::ResnetSpec resnet_spec(const UnetConfig& c, float output_scale = 1) {
  return {.groups = c.groups, .eps = c.eps, .activation = c.activation, .temb = c.temb, .output_scale = output_scale};
}

// DownBlock2D, or CrossAttnDownBlock2D if it attends.
// x [B, H, W, in], temb [B, temb] activated → [B, ⌈H/2⌉, ⌈W/2⌉, C], or [B, H, W, C] on the last level.
// Appends every layer's output and the halved one to `skips`. `identity` as for TransformerBlock, here and below. `feature`: of a
// T2I-Adapter, added to x; may be undefined. It is added after the last layer if the block attends, and else at the end of the block.
struct DownBlock {
  DownBlock(const Scope& w, const UnetConfig& config, size_t level);
  Tensor operator()(Tensor x, const Tensor& temb, const UnetContext& context, std::vector<Tensor>& skips, int64_t identity = 0,
                    const Tensor& feature = {}) const;

  std::vector<nn::ResnetBlock> resnets;
  std::vector<SpatialTransformer> attentions;  // one per residual block, or none
  std::optional<nn::Conv2d> downsampler;       // downsamplers.0.conv; not on the last level
  std::string path;
};

// UNetMidBlock2DCrossAttn, or UNetMidBlock2D, of which only the first residual block is used. x [B, H, W, C] → the same shape.
struct MidBlock {
  MidBlock(const Scope& w, const UnetConfig& config);
  Tensor operator()(const Tensor& x, const Tensor& temb, const UnetContext& context, int64_t identity = 0) const;

  std::vector<nn::ResnetBlock> resnets;         // two with, one without attention
  std::optional<SpatialTransformer> attention;  // attentions.0
  std::string path;
};

struct UnetEncoder {
  UnetEncoder(const Scope& w, const UnetConfig& config);

  struct Inputs {
    const UnetConditions& given;
    Perturbed perturbed = {};
    Tensor hint = {};                    // [B, H, W, C of level 0]: added to conv_in's output; may be undefined
    Tensor added_to_time = {};           // [B, temb]: added to the embedding of the timestep; may be undefined
    std::span<const Tensor> features{};  // of a T2I-Adapter: see UnetResiduals
  };
  struct Outputs {
    Tensor temb;                // [B, temb], activated
    Tensor x;                   // of the middle block, or without one of the last down block
    std::vector<Tensor> skips;  // conv_in's output, and the output of each layer and of each downsampler
  };
  // Arguments and errors: Unet::operator().
  Outputs operator()(const Tensor& x, std::span<const float> timesteps, const Inputs& in) const;

  UnetConfig config;
  nn::Linear time_embedding_1, time_embedding_2;  // time_embedding.linear_1, .linear_2
  std::optional<nn::Linear> cond_proj;            // time_embedding.cond_proj, no bias
  std::optional<nn::Linear> add_embedding_1, add_embedding_2;
  nn::Conv2d conv_in;
  std::vector<DownBlock> down_blocks;
  std::optional<MidBlock> mid_block;

 private:
  void check(const Tensor& x, std::span<const float> timesteps, const Inputs& in) const;
  Tensor time_embedding(Backend& backend, std::span<const float> timesteps, const Inputs& in, int64_t B) const;
};

}  // namespace hearth::parts
