// The transformer of PixArt-α (Chen et al. 2023, arXiv 2310.00426) and PixArt-Σ (arXiv 2403.04692), after PixArtTransformer2DModel of
// diffusers 0.39.0: self-attention, cross-attention to the text, and one modulation that all blocks share.
//
//   x [B, h, w, C] ─ patches + positions ─ [B, T, W] ─ blocks ─ norm, proj_out ─ [B, h, w, out_channels]
//   states [B, L, Ct] ─ caption_projection ─ [B, L, W] ─┘
//   timestep, height, width ─ adaln_single ─ embedding [B, W] → shift, scale and gate of both branches, [B, 6·W]
//
// The stream, the embedding and everything computed from it alone are f32.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/pixart/transformer_config.h"
#include "nn/conditioning.h"
#include "weights/blocks.h"

namespace hearth::models::pixart {

// Positions of rows·columns tokens: [1, rows, columns, width] f32, sines and cosines of the column, then of the row. The training images
// have `base` tokens each way, over which an image of any size is spread; the result is divided by `interpolation`.
Tensor sine_positions(Backend& backend, int64_t rows, int64_t columns, int64_t width, int64_t base, double interpolation);

// Queries from x [B, T, W], keys and values from y [B, L, Cy] → [B, T, W], before the output projection.
struct Attention {
  Attention(const Scope& w, const TransformerConfig& config, int64_t of_keys);
  Tensor operator()(const Tensor& x, const Tensor& y, const std::vector<int64_t>& lengths) const;

  nn::Linear q, k, v;  // to_q, to_k, to_v
  nn::Linear out;      // to_out.0
  int64_t heads, head_size;
};

// BasicTransformerBlock with the norm "ada_norm_single". The cross-attention reads the stream without a norm.
struct Block {
  Block(const Scope& w, const TransformerConfig& config);
  // shared [B, 6·W]; text [B, L, width], lengths as in Transformer.
  Tensor operator()(const Tensor& x, const Tensor& shared, const Tensor& text, const std::vector<int64_t>& lengths) const;

  nn::ModulationTable table;  // shift, scale, gate of the attention, and of the MLP
  Attention self, cross;      // attn1, attn2
  nn::Linear proj, mlp_out;   // ff.net.0.proj [4·W, W], ff.net.2
  float eps;
  std::string path;
};

struct Inputs {
  Tensor text;                        // [B, L, config.text]
  std::vector<int64_t> lengths = {};  // [B]: rows of the text that are attended to; empty: all
  std::span<const float> timesteps;   // one for all, or one per image, 0 … 999
  float height = 0, width = 0;        // of the image in pixels; read only if config.conditions
};

struct Transformer {
  Transformer(const Scope& w, const TransformerConfig& config);

  // x [B, h, w, in_channels], sides multiples of the patch → [B, h, w, out_channels]. ShapeError if the shapes do not match. Taps:
  // "pos_embed", "adaln_single.emb", "adaln_single.linear", "caption_projection", "transformer_blocks.i", "norm_out".
  Tensor operator()(const Tensor& x, const Inputs& inputs) const;

  TransformerConfig config;
  nn::Conv2d patches;                                                          // pos_embed.proj, kernel and stride `patch`
  nn::EmbeddingMlp timestep_embedder;                                          // adaln_single.emb.…
  std::optional<nn::EmbeddingMlp> resolution_embedder, aspect_ratio_embedder;  // the same
  nn::Modulation shared;                                                       // adaln_single.linear
  std::optional<nn::Linear> text_1, text_2;                                    // caption_projection.linear_1, linear_2
  Blocks<Block> blocks;                                                        // transformer_blocks.i
  nn::ModulationTable last;                                                    // scale_shift_table: shift, scale
  nn::Linear proj_out;

 private:
  void check(const Tensor& x, const Inputs& inputs) const;
  Tensor embed(Backend& backend, int64_t B, const Inputs& inputs) const;
};

}  // namespace hearth::models::pixart
