// ControlNets of Qwen-Image (InstantX): copies of some of the transformer's blocks that see the latents of a control image, too, and output
// what the transformer adds to its image tokens. After diffusers' QwenImageControlNetModel, 0.39.0.
//
//   x [n, T, C] ─ img_in ─┐
//   the image's latents ─ controlnet_x_embedder ─ added ─ transformer_blocks ─ after each: controlnet_blocks.i → [n, T, D]
//
// The streams are f32, as the transformer's, and so are the products that read the image's outside a block.
#pragma once

#include "models/qwen_image/controlnet_config.h"
#include "models/qwen_image/transformer.h"

namespace hearth::models::qwen_image {

struct ControlNet {
  ControlNet(const Scope& w, const ControlNetConfig& config);

  // Latents of the control image [1 or n, h, w, C], with a mask as last channel if the network fills → [1 or n, T, D]: once for a run.
  // Tap: "controlnet_x_embedder".
  Tensor hint(const Tensor& latents) const;

  // x [n, T, in_channels], the tokens of `image`; hint as above, repeated for the batch → [n, T, D] f32 of each block. ShapeError if the
  // shapes do not match. Taps: those of Transformer.
  std::vector<Tensor> operator()(const Tensor& x, const Grid& image, const Conditions& given, const Tensor& hint) const;

  ControlNetConfig config;
  TimeTextEmbed time_text_embed;
  nn::RmsNorm txt_norm;
  nn::Linear txt_in, img_in, controlnet_x_embedder;
  Blocks<JointBlock> transformer_blocks;
  std::vector<nn::Linear> controlnet_blocks;
};

}  // namespace hearth::models::qwen_image
