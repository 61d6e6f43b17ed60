// Control networks of SANA: copies of the transformer's first blocks that see the latents of a control image, too, and output what the
// transformer adds after its blocks from the second one on. After diffusers' SanaControlNetModel, 0.39.0.
//
//   x [B, h, w, C] ─ patches ──────────────────────┐
//   control latents ─ the same patches ─ input_block ─ added ─ transformer_blocks ─ after each: controlnet_blocks.i → [B, T, W]
#pragma once

#include "models/sana/controlnet_config.h"
#include "models/sana/transformer.h"

namespace hearth::models::sana {

struct ControlNet {
  ControlNet(const Scope& w, const TransformerConfig& config);

  // Latents of the control image [1 or B, h, w, C] → [1 or B, T, W]: once for a run. Tap "input_block".
  Tensor hint(const Tensor& latents) const;

  // x, timesteps, text, rows, limited: as for Transformer; hint [1 or B / k, T, W], repeated for the batch → [B, T, W] of each block. Taps:
  // of Stem, "transformer_blocks.i".
  std::vector<Tensor> operator()(const Tensor& x, std::span<const float> timesteps, const Tensor& text, std::span<const int64_t> rows,
                                 const Tensor& hint, bool limited = false) const;

  TransformerConfig config;
  Stem stem;
  nn::Linear input_block;
  Blocks<Block> blocks;  // transformer_blocks.i
  std::vector<nn::Linear> controlnet_blocks;
};

}  // namespace hearth::models::sana
