// ControlNet (Zhang et al. 2023, arXiv 2302.05543): a copy of the UNet's first half that sees an image besides the latents, and outputs
// what the UNet adds to its skips. After diffusers' ControlNetModel and ControlNetUnionModel, 0.39.0.
#pragma once

#include "parts/controlnet/config.h"
#include "parts/controlnet/fusion.h"
#include "parts/unet/unet.h"

namespace hearth::parts {

// x [B, H, W, image_channels] → [B, ⌈H/f⌉, ⌈W/f⌉, out], f = 2^(hint channels − 1): each but the last halves the image.
struct HintEncoder {
  HintEncoder(const Scope& w, int64_t image_channels, const std::vector<int64_t>& hint_channels, int64_t out);
  Tensor operator()(const Tensor& x) const;

  nn::Conv2d conv_in;
  std::vector<nn::Conv2d> blocks;  // two for each halving; the second halves
  nn::Conv2d conv_out;
  std::string path;
};

// A control image [1, H, W, 3], red green blue in 0 … 1; for a union with its type, and its weight if there are several.
struct ControlImage {
  Tensor image;
  int64_t type = 0;
  float weight = 1;
};

// What depends on the control images alone.
struct ControlHint {
  Tensor features;   // [1, h, w, C]: added to conv_in's output
  Tensor embedding;  // of a union, [1, temb]: added to the time embedding
};

struct ControlNet {
  ControlNet(const Scope& w, const ControlNetConfig& config);

  // Computed once for a run. One image; a union accepts several. UsageError for a type that the union does not have.
  ControlHint hint(std::span<const ControlImage> images) const;

  struct Residuals {
    std::vector<Tensor> skips;  // of the shapes of the UNet's skips; [B, 1, 1, C] if the network pools
    Tensor mid;
  };
  // x [B, h, w, in_channels]; timesteps and errors as for Unet.
  Residuals operator()(const Tensor& x, std::span<const float> timesteps, const UnetConditions& given, const ControlHint& hint) const;

  ControlNetConfig config;
  UnetEncoder encoder;
  HintEncoder controlnet_cond_embedding;
  std::vector<nn::Conv2d> controlnet_down_blocks;  // 1×1, one for each skip
  nn::Conv2d controlnet_mid_block;
  std::optional<HintFusion> fusion;  // of a union
};

// Factors of a network's residuals, skip by skip and for the middle block last: the scale, in guess mode times 0.1 … 1 on a logarithmic
// scale.
std::vector<float> control_factors(size_t skips, double scale, bool guess);

}  // namespace hearth::parts
