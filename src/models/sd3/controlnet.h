// ControlNets of Stable Diffusion 3 (InstantX, Stability): copies of some of the transformer's blocks that see the latents of a control
// image, too, and output what the transformer adds to its image stream. After diffusers' SD3ControlNetModel, 0.39.0.
//
//   x [B, h, w, C] ─ pos_embed ─┐
//   control latents ─ pos_embed_input ─ added ─ transformer_blocks ─ after each: controlnet_blocks.i → [B, T, W]
#pragma once

#include <variant>

#include "models/sd3/controlnet_config.h"
#include "models/sd3/transformer.h"

namespace hearth::models::sd3 {

// SD3SingleTransformerBlock: the image alone.
struct SingleBlock {
  SingleBlock(const Scope& w, const MmditConfig& config);
  // x [B, T, W], temb [B, W] activated → [B, T, W]
  Tensor operator()(const Tensor& x, const Tensor& temb) const;

  nn::Modulation norm1;     // shift, scale and gate of the attention, the same of the MLP
  StreamProjections image;  // attn
  nn::Linear to_out;        // attn.to_out.0
  MmditMlp ff;
  std::string path;
};

struct ControlNet {
  ControlNet(const Scope& w, const ControlNetConfig& config);

  // Latents of the control image [1 or B, h, w, C], with a mask as last channel if the network fills → [1 or B, T, W]: once for a run.
  Tensor hint(const Tensor& latents) const { return pos_embed_input(latents); }

  // x, timesteps, context, pooled: as for Mmdit, context undefined if the network does not see the text; hint [1 or B / k, T, W], repeated
  // for the batch → [B, T, W] of each block. Taps: "pos_embed", "pos_embed_input", "time_text_embed", "context_embedder",
  // "transformer_blocks.i" and, of its text, "transformer_blocks.i.text".
  std::vector<Tensor> operator()(const Tensor& x, std::span<const float> timesteps, const Tensor& context, const Tensor& pooled,
                                 const Tensor& hint) const;

  ControlNetConfig config;
  PatchEmbed pos_embed, pos_embed_input;
  TimeTextEmbed time_text_embed;
  std::optional<nn::Linear> context_embedder;
  Blocks<JointBlock> joint_blocks;    // transformer_blocks.i, if the network sees the text
  Blocks<SingleBlock> single_blocks;  // transformer_blocks.i, if it does not
  std::vector<nn::Linear> controlnet_blocks;
};

}  // namespace hearth::models::sd3
