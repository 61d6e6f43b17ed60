// The transformer of AuraFlow (fal 2024), after AuraFlowTransformer2DModel of diffusers 0.39.0: joint blocks of two streams, text and
// image, then blocks of one stream, none of them with biases.
//
//   x [B, h, w, C] ─ patches, linear + positions ─ image [B, T, W] ┐
//   states [B, L, Ct] ─ context_embedder, after 8 registers ─ text [B, 8 + L, W] ┴ joint blocks ─ text, image ─ single blocks
//   timestep ─ time_step_proj ─ [B, W] → shift, scale and gate of every norm and branch; norm_out ─ proj_out ─ velocity [B, h, w, C]
//
// The streams, the embedding and everything computed from it alone are f32.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/aura_flow/transformer_config.h"
#include "nn/conditioning.h"
#include "weights/blocks.h"

namespace hearth::models::aura_flow {

inline constexpr int64_t registers = 8;  // learned tokens before the text

// Queries, keys and values, each [B, T, N, D]; queries and keys are normalized over each head.
struct Projections {
  struct Names {
    std::string_view q, k, v, out;
  };
  static constexpr Names own{"to_q", "to_k", "to_v", "to_out.0"}, added{"add_q_proj", "add_k_proj", "add_v_proj", "to_add_out"};
  struct Heads {
    Tensor q, k, v;
  };

  Projections(const Scope& w, const TransformerConfig& config, const Names& names);
  Heads operator()(const Tensor& x) const;               // x [B, T, W]
  Stored input() const { return nn::read_by(q, k, v); }  // of x

  nn::Linear q, k, v, out;
  int64_t heads, head_size;
};

// out_projection(silu(linear_1 x) · linear_2 x).   x, residual [B, T, W], gate [B, W] → gate · y + residual [B, T, W]
struct Mlp {
  Mlp(const Scope& w, const TransformerConfig& config);
  Tensor operator()(const Tensor& x, const Tensor& gate, const Tensor& residual) const;

  nn::Linear linear_1, linear_2, out;  // [F, W], [F, W], out_projection [W, F]
};

// What follows the attention of a stream x: the MLP reads x + attention and is added to x itself, so that the attention reaches the next
// block through the MLP only.
struct Tail {
  Tail(const Scope& w, const TransformerConfig& config) : mlp(w, config) {}
  // m: shift, scale and gate of the attention, and of the MLP; attended [B, T, W], before the output projection.
  Tensor operator()(const nn::Modulation::Vectors& m, const Tensor& x, const Tensor& attended, const nn::Linear& out) const;

  Mlp mlp;  // ff, ff_context
};

struct Streams {
  Tensor text, image;  // [B, 8 + L, W], [B, T, W]
};

struct JointBlock {
  JointBlock(const Scope& w, const TransformerConfig& config);
  Streams operator()(const Streams& x, const Tensor& embedding) const;  // embedding [B, W]: activated

  nn::Modulation norm1, norm1_context;
  Projections image, text;  // attn
  Tail ff, ff_context;
  std::string path;
};

struct SingleBlock {
  SingleBlock(const Scope& w, const TransformerConfig& config);
  Tensor operator()(const Tensor& x, const Tensor& embedding) const;

  nn::Modulation norm1;
  Projections attention;  // attn
  Tail ff;
  std::string path;
};

struct Transformer {
  Transformer(const Scope& w, const TransformerConfig& config);

  // x [B, h, w, in_channels], sides multiples of the patch; timesteps: one for all, or one per image, 0 … 1; text [B, L, config.text]
  // → [B, h, w, out_channels]. The position table is picked around its center. ShapeError if the shapes do not match, or if a side exceeds
  // the table. Taps: "pos_embed", "time_step_proj", "context_embedder", "joint_transformer_blocks.i" and, of its text,
  // "joint_transformer_blocks.i.text", "single_transformer_blocks.i", "norm_out".
  Tensor operator()(const Tensor& x, std::span<const float> timesteps, const Tensor& text) const;

  TransformerConfig config;
  nn::Linear patches;               // pos_embed.proj [W, C·p·p]
  Tensor positions;                 // pos_embed.pos_embed [1, side², W], in the stored dtype
  nn::EmbeddingMlp time_step_proj;  // with biases
  nn::Linear context_embedder;
  Tensor register_tokens;      // [1, 8, W]
  Blocks<JointBlock> joint;    // joint_transformer_blocks.i
  Blocks<SingleBlock> single;  // single_transformer_blocks.i
  nn::Modulation norm_out;     // scale, shift, of the stream as it is
  nn::Linear proj_out;

 private:
  void check(const Tensor& x, std::span<const float> timesteps, const Tensor& text) const;
  Tensor embed_image(const Tensor& x) const;
};

}  // namespace hearth::models::aura_flow
