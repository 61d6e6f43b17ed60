// ControlNets of FLUX.1 (InstantX, Shakker Labs, Jasper, XLabs): copies of some of the transformer's blocks that see a control image, too,
// and output what the transformer adds to its image tokens. After diffusers' FluxControlNetModel, 0.39.0.
//
//   x [n, T, C] ─ x_embedder ─┐
//   the image's latents, or its pixels through convolutions ─ controlnet_x_embedder ─ added ─ blocks ─ after each: a linear layer
#pragma once

#include "models/flux1/controlnet_config.h"
#include "models/flux1/transformer.h"
#include "parts/controlnet/controlnet.h"

namespace hearth::models::flux1 {

struct ControlNet {
  ControlNet(const Scope& w, const ControlNetConfig& config);

  // Once for a run: latents of the control image [1 or B, h, w, C], or its pixels [1, H, W, 3] in −1 … 1 if the network has convolutions
  // → [1 or B, T, D]. Tap: "controlnet_x_embedder".
  Tensor hint(const Tensor& image) const;
  // The token of a kind of images, [1, 1, D]; undefined if the network is not a union.
  Tensor mode(int64_t number) const;

  struct Outputs {
    std::vector<Tensor> double_blocks, single_blocks;  // [n, T, D]
  };
  // x [n, T, C] at T positions, one image; hint and mode as above, repeated for the batch. Taps: those of Transformer.
  Outputs operator()(const Tensor& x, std::span<const Position> positions, const Conditions& given, const Tensor& hint,
                     const Tensor& mode) const;

  ControlNetConfig config;
  TimeTextEmbed time_text_embed;
  nn::Linear context_embedder, x_embedder, controlnet_x_embedder;
  Blocks<DoubleBlock> transformer_blocks;
  Blocks<SingleBlock> single_transformer_blocks;
  std::vector<nn::Linear> controlnet_blocks, controlnet_single_blocks;
  Tensor modes;  // controlnet_mode_embedder [modes, D], in the stored dtype
  std::optional<parts::HintEncoder> input_hint_block;
};

}  // namespace hearth::models::flux1
