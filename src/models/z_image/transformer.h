// The transformer of Z-Image (Alibaba 2025), after diffusers' ZImageTransformer2DModel, 0.39.0: one stream of image and text tokens, each
// first refined alone, with norms on both sides of attention and MLP (as Lumina 2; Qin et al. 2025, arXiv 2503.21758).
//
//   latents [n, h, w, C] → pack() → x_embedder → T tokens, padded to a multiple of 32 → noise_refiner ┐
//   text states [n, L, text] → cap_embedder → L tokens, padded to a multiple of 32 → context_refiner  ├→ [image, text] → layers →
//   time → t_embedder: scales and gates of every block but the text's                                 ┘   final_layer → unpack()
//
// Padding is a learned token that takes part. The residual streams are f32, and so are the embedding of the time and the modulations.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "models/z_image/transformer_config.h"
#include "nn/layers.h"
#include "weights/blocks.h"

namespace hearth::models::z_image {

// Latents [n, h, w, C] → tokens [n, h/2 · w/2, 4·C], row by row: the 2×2 pixels of a token with the channel innermost, (dy, dx, c).
// ShapeError unless h and w are even.
Tensor pack(const Tensor& latents);
// The reverse: the first h/2 · w/2 of tokens [n, S, 4·C] → latents [n, h, w, C].
Tensor unpack(const Tensor& tokens, int64_t h, int64_t w);

// Cosines and sines of the rotary position embedding: [1, S, 1, 2, head/2] for the padded image tokens, and for the padded text tokens.
// Text token i is at (1 + i, 0, 0), its padding, too; image token (y, x) at (1 + padded text tokens, y, x), its padding at (0, 0, 0).
struct RotaryTables {
  Tensor image, text;
};
RotaryTables rotary_tables(const TransformerConfig& config, int64_t rows, int64_t columns, int64_t text_tokens, Backend& backend);

// ZImageTransformerBlock:  x + gate · norm2(attention(norm1(x) · (1 + scale))), then the same with the MLP; without gate and scale in the
// text's refiner.   x [n, S, D], time [n, 256], table → [n, S, D]
struct Block {
  Block(const Scope& w, const TransformerConfig& config, bool modulated);
  Tensor operator()(const Tensor& x, const Tensor& time, const Tensor& table) const;

  std::optional<nn::Linear> adaln;  // adaLN_modulation.0: scale and gate of the attention, scale and gate of the MLP
  nn::RmsNorm attention_norm1, attention_norm2, ffn_norm1, ffn_norm2;
  nn::Linear q, k, v, out;
  std::optional<nn::RmsNorm> norm_q, norm_k;
  nn::Linear w1, w2, w3;
  int64_t heads;
  std::string path;
};

// The layers that prepare the streams of the transformer, which its control networks share. `x` [n, h, w, C]; `times` 0 (noise) to 1
// (image), one for all or one per image; `text` states [n, L, text].
struct Stem {
  Stem(const Scope& w, const TransformerConfig& config);

  // ShapeError if the shapes do not match, or for more positions than the network has.
  void check(const Tensor& x, std::span<const float> times, const Tensor& text) const;
  Tensor time(const Tensor& x, std::span<const float> times) const;          // [n, time_width]
  Tensor image_tokens(const Tensor& x) const;                                // padded, not refined: [n, S, D]
  Tensor text_tokens(const Tensor& text, const RotaryTables& tables) const;  // padded and refined: [n, L, D]
  RotaryTables tables(const Tensor& x, const Tensor& text) const;

  TransformerConfig config;
  nn::Linear t_in, t_out;  // t_embedder.mlp.0, t_embedder.mlp.2
  nn::Linear x_embedder;   // all_x_embedder.2-1
  nn::RmsNorm cap_norm;    // cap_embedder.0, cap_embedder.1
  nn::Linear cap_embedder;
  Tensor x_pad, cap_pad;  // [1, D]
  Blocks<Block> noise_refiner, context_refiner;
};

// Tokens [n, T, D], followed by copies of `token` [1, D] up to a multiple of 32.
Tensor padded(const Tensor& x, const Tensor& token);

using AddedAfterLayers = std::map<int64_t, Tensor>;  // by number of the layer: [n, S + L, D], image and text with their padding

struct Transformer {
  Transformer(const Scope& w, const TransformerConfig& config);

  // x [n, h, w, C] at `times`, 0 (noise) to 1 (image), one for all or one per image, under text states [n, L, text] → the prediction as x,
  // f32: image − noise. `added`: what control networks add to the streams. ShapeError if the shapes do not match, or for more positions
  // than the network has. Taps: each block under diffusers' path.
  Tensor operator()(const Tensor& x, std::span<const float> times, const Tensor& text, const AddedAfterLayers& added = {}) const;

  TransformerConfig config;
  Stem stem;
  Blocks<Block> layers;
  nn::Linear final_adaln, final_linear;  // all_final_layer.2-1: adaLN_modulation.1, linear
};

}  // namespace hearth::models::z_image
