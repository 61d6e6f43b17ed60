// ControlNets of Hunyuan-DiT: copies of the blocks of the transformer's first half that see the latents of a control image, too. What they
// output is added to what those blocks leave for the second half. After HunyuanDiT2DControlNetModel of diffusers 0.39.0.
//
//   x [B, h, w, C] ─ patches ──────────────────────┐
//   control latents ─ the same patches ─ input_block ─ added ─ blocks ─ after each: controlnet_blocks.i → [B, T, W]
#pragma once

#include "models/hunyuan_dit/transformer.h"
#include "weights/layout/name_map.h"

namespace hearth::models::hunyuan_dit {

struct ControlNet {
  // `config`: of the transformer that it is for.
  ControlNet(const Scope& w, const TransformerConfig& config);

  // Latents of the control image [1 or B, h, w, C] → [1 or B, T, W]: once for a run. Tap "input_block".
  Tensor hint(const Tensor& latents) const;

  // x and inputs as for Transformer; hint [1 or B / k, T, W], repeated for the batch → config.skips() tensors [B, T, W]. ShapeError if the
  // shapes do not match. Taps: of Stem, "blocks.i".
  std::vector<Tensor> operator()(const Tensor& x, const Inputs& inputs, const Tensor& hint) const;

  TransformerConfig config;
  Stem stem;
  nn::Linear input_block;
  Blocks<Block> blocks;  // blocks.i
  std::vector<nn::Linear> controlnet_blocks;
};

// Of a file without a config.json: sizes as its tensors, under official names, show them, and what they do not show as the model that it is
// for has it.
TransformerConfig control_of_tensors(const TensorList& official, const TransformerConfig& model);

// WeightError unless what the network adds fits the model's transformer, and the transformer's inputs the network.
void require_same_sizes(const TransformerConfig& control, const TransformerConfig& model, const std::string& where);

}  // namespace hearth::models::hunyuan_dit
