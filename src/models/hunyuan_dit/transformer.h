// The transformer of Hunyuan-DiT (Li et al. 2024, arXiv 2405.08748), after HunyuanDiT2DModel of diffusers 0.39.0: blocks of the second half
// also read what those of the first half computed, in reverse order.
//
//   x [B, h, w, C] ─ patches ─ [B, T, W] ─ blocks (rotated positions, cross-attention) ─ norm_out, proj_out ─ [B, h, w, 2·C]
//   text [B, 77, Ct], t5 [B, 256, C5] → text_embedder; learned rows instead of padding ─ [B, 333, Ct] ─┘
//   timestep; t5, pooled by attention; sizes, style → embedding [B, W] → a shift of each block's first norm
//
// The stream, the embedding and everything computed from it alone are f32.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/hunyuan_dit/transformer_config.h"
#include "nn/conditioning.h"
#include "weights/blocks.h"

namespace hearth::models::hunyuan_dit {

// Rotations of rows·columns tokens: [1, rows·columns, 1, 2, head_size / 2] f32, those of the column first. The image is fitted into the
// square of 512-pixel images, which has `base` tokens each way, and centered.
Tensor rotary_table(Backend& backend, int64_t rows, int64_t columns, int64_t head_size, int64_t base);

// Queries from x [B, T, W], keys and values from y [B, L, Cy] → [B, T, W], before the output projection. Queries and keys are normalized
// over each head; `table` rotates queries, and in a self-attention the keys.
struct Attention {
  Attention(const Scope& w, const TransformerConfig& config, int64_t of_keys);
  Tensor operator()(const Tensor& x, const Tensor& y, const Tensor& table, bool self) const;

  nn::Linear q, k, v;            // to_q, to_k, to_v
  nn::LayerNorm norm_q, norm_k;  // [D]
  nn::Linear out;                // to_out.0
  int64_t heads, head_size;
};

struct Block {
  Block(const Scope& w, const TransformerConfig& config, bool skips);
  // embedding [B, W]: activated. skip [B, T, W]: of the first half, if the block takes it.
  Tensor operator()(const Tensor& x, const Tensor& embedding, const Tensor& text, const Tensor& table, const Tensor& skip) const;

  std::optional<nn::LayerNorm> skip_norm;  // [2·W]
  std::optional<nn::Linear> skip_linear;   // [W, 2·W]
  nn::Linear shift;                        // norm1.linear
  nn::LayerNorm norm1, norm2, norm3;       // norm1.norm; of the cross-attention; of the MLP
  Attention self, cross;                   // attn1, attn2
  nn::Linear proj, mlp_out;                // ff.net.0.proj, ff.net.2
  std::string path;
};

// Attention of the rows' mean to all of them, the mean first.   x [B, L, C] → [B, pooled]
struct Pooler {
  Pooler(const Scope& w, const TransformerConfig& config);
  Tensor operator()(const Tensor& x) const;

  Tensor positions;         // positional_embedding [1 + L, C]
  nn::Linear q, k, v, out;  // q_proj, k_proj, v_proj [C, C]; c_proj [pooled, C]
};

// Height and width of the original and of the target image, top and left of the crop, in pixels.
using SizeConditions = std::array<float, 6>;
// → [1, 6 · 256]
Tensor embed_sizes(Backend& backend, const SizeConditions& sizes);

struct Inputs {
  Tensor text, t5;                                          // [B, text_rows, config.text], [B, t5_rows, config.t5]
  std::vector<int64_t> text_lengths = {}, t5_lengths = {};  // [B]: rows that are not padding
  std::span<const float> timesteps;                         // one for all, or one per image, 0 … 999
  Tensor sizes = {};                                        // embed_sizes, [B, 6 · 256]; read only if config.conditions
};

// The layers that read the inputs, of the transformer and of its control networks. `x`: [B, h, w, in_channels], sides multiples of the
// patch.
struct Stem {
  Stem(const Scope& w, const TransformerConfig& config);

  void check(const Tensor& x, const Inputs& inputs) const;        // ShapeError if the shapes do not match
  Tensor tokens(const Tensor& x) const;                           // [B, T, W], row by row. Tap "pos_embed"
  Tensor embedding(const Tensor& x, const Inputs& inputs) const;  // [B, W], activated. Taps "time_extra_emb.pooler", "time_extra_emb"
  Tensor context(const Tensor& x, const Inputs& inputs) const;    // [B, text_rows + t5_rows, config.text]. Tap "text_embedder"
  Tensor rotations(const Tensor& x) const;                        // rotary_table

  TransformerConfig config;
  nn::Linear text_1, text_2;           // text_embedder.linear_1, linear_2
  Tensor padding;                      // text_embedding_padding [text_rows + t5_rows, config.text]
  nn::Conv2d patches;                  // pos_embed.proj, kernel and stride `patch`
  nn::EmbeddingMlp timestep_embedder;  // time_extra_emb.…
  Pooler pooler;
  Tensor style;                 // time_extra_emb.style_embedder.weight [1, W]; undefined without conditions
  nn::Linear extra_1, extra_2;  // time_extra_emb.extra_embedder.linear_1, linear_2
};

struct Transformer {
  Transformer(const Scope& w, const TransformerConfig& config);

  // x [B, h, w, in_channels], sides multiples of the patch → [B, h, w, 2·in_channels]. `added` [B, T, W]: to what each block of the first
  // half leaves for the second, config.skips() of them, or none. ShapeError if the shapes do not match. Taps: "pos_embed",
  // "time_extra_emb.pooler", "time_extra_emb", "text_embedder", "blocks.i", "norm_out".
  Tensor operator()(const Tensor& x, const Inputs& inputs, std::span<const Tensor> added = {}) const;

  TransformerConfig config;
  Stem stem;
  Blocks<Block> blocks;     // blocks.i
  nn::Modulation norm_out;  // scale, shift
  nn::Linear proj_out;
};

}  // namespace hearth::models::hunyuan_dit
