// The linear diffusion transformer of SANA (Xie et al. 2024, arXiv 2410.10629), after SanaTransformer2DModel of diffusers 0.39.0.
//
//   x [B, h, w, C] ─ patches (+ sine positions) ─ [B, T, W] ─ blocks ─ norm_out ─ proj_out ─ velocity [B, h, w, C]
//   text [B, L, Ct] ─ caption_projection ─ caption_norm ─ keys and values of every block
//   timestep (and guidance scale) ─ MLP ─ temb [B, W] → shift, scale and gate of every block, each with a table of its own
//
// Self-attention is linear in the number of tokens; positions come from the 3×3 convolutions of the feed-forward parts. The stream, temb
// and everything computed from it alone are f32.
#pragma once

#include <optional>
#include <span>

#include "models/sana/gated_conv.h"
#include "models/sana/transformer_config.h"
#include "nn/conditioning.h"
#include "weights/blocks.h"

namespace hearth::models::sana {

// Text states for the cross-attention, and how many of their rows count for each image.
struct Caption {
  Tensor states;                  // [B, L, W]
  std::span<const int64_t> rows;  // [B]
};

// Queries and keys with ReLU features.   x [B, T, W], gate [B, W], stream [B, T, W] → stream + gate · y
struct LinearSelfAttention {
  LinearSelfAttention(const Scope& w, const TransformerConfig& config);
  // limited: y is clamped to ±65504, the range of float16.
  Tensor operator()(const Tensor& x, const Tensor& gate, const Tensor& stream, bool limited) const;

  nn::Linear to_q, to_k, to_v, to_out;  // to_out.0
  std::optional<nn::RmsNorm> norm_q, norm_k;
  int64_t heads, head_size;
};

struct CrossAttention {
  CrossAttention(const Scope& w, const TransformerConfig& config);
  Tensor operator()(const Tensor& x, const Caption& caption) const;  // + x

  nn::Linear to_q, to_k, to_v, to_out;
  std::optional<nn::RmsNorm> norm_q, norm_k;
  int64_t heads, head_size;
};

struct Block {
  Block(const Scope& w, const TransformerConfig& config);
  // x [B, T, W], modulation [B, 6·W] without the block's own table; the tokens are h rows of w.
  Tensor operator()(const Tensor& x, const Caption& caption, const Tensor& modulation, int64_t h, int64_t w, bool limited) const;

  LinearSelfAttention attn1;
  CrossAttention attn2;
  Tensor norm2_gamma, norm2_beta;  // of the gated convolution; undefined without weights
  GatedConv ff;
  Tensor table;  // scale_shift_table [1, 6·W]: shift, scale, gate of the attention; the same of the gated convolution
  float eps;
  std::string path;
};

// The layers that read the inputs, of the transformer and of its control networks. `x` [B, h, w, in_channels], sides multiples of the
// patch.
struct Stem {
  Stem(const Scope& w, const TransformerConfig& config);

  // ShapeError if the shapes do not match.
  void check(const Tensor& x, std::span<const float> timesteps, std::optional<float> guidance, const Tensor& text,
             std::span<const int64_t> rows) const;
  Tensor tokens(const Tensor& x) const;  // [B, T, W], row by row. Tap "patch_embed"
  Tensor time(const Tensor& x, std::span<const float> timesteps, std::optional<float> guidance) const;  // temb [B, W]
  Tensor modulation(const Tensor& temb) const;                                                          // [B, 6·W]. Tap "time_embed"
  Tensor caption(const Tensor& text) const;                                                             // [B, L, W]. Tap "caption_norm"

  TransformerConfig config;
  nn::Conv2d patches;                                 // patch_embed.proj
  nn::EmbeddingMlp timestep_embedder;                 // time_embed.emb.timestep_embedder, or time_embed.timestep_embedder
  std::optional<nn::EmbeddingMlp> guidance_embedder;  // time_embed.guidance_embedder
  nn::Linear time_linear;                             // time_embed.linear [6·W, W]
  nn::Linear caption_1, caption_2;                    // caption_projection.linear_1, linear_2
  nn::RmsNorm caption_norm;
};

struct Transformer {
  Transformer(const Scope& w, const TransformerConfig& config);

  // x [B, h, w, in_channels], sides multiples of the patch; timesteps: one for all, or one per image; guidance: the scale, for networks
  // with guidance_embedding; text [B, L, text_width], of which the first rows[b] count → [B, h, w, out_channels]. limited: results of the
  // self-attention are clamped to the range of float16, as the reference does in that dtype. added: lists of [B, T, W], whose tensor i is
  // added after block i + 1. ShapeError if the shapes do not match. Taps: "patch_embed", "time_embed", "caption_norm",
  // "transformer_blocks.i", "norm_out".
  Tensor operator()(const Tensor& x, std::span<const float> timesteps, std::optional<float> guidance, const Tensor& text,
                    std::span<const int64_t> rows, bool limited = false, std::span<const std::vector<Tensor>> added = {}) const;

  TransformerConfig config;
  Stem stem;
  Blocks<Block> blocks;
  Tensor table;  // scale_shift_table [1, 2·W]: shift, scale of the last norm
  nn::Linear proj_out;
};

}  // namespace hearth::models::sana
