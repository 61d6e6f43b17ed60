// The transformer of Qwen-Image (Qwen 2025, arXiv 2508.02324), after diffusers' QwenImageTransformer2DModel, 0.39.0: tokens of text and
// image in two streams that attend together in every block (Esser et al. 2024, arXiv 2403.03206).
//
//   latents [n, h, w, C] → pack() → x [n, T, 4·C] → D ┐
//   text states [n, L, text] → RMS norm → D           ├→ joint blocks → the image's first rows → norm_out, proj_out → [n, rows, 4·C]
//   timestep → D: modulations of every block          ┘
//
// The residual streams are f32 (published weights reach 2·10⁷ there), and so are the embedding of the timestep and the modulations.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "models/qwen_image/transformer_config.h"
#include "nn/conditioning.h"
#include "weights/blocks.h"

namespace hearth::models::qwen_image {

inline constexpr float eps = 1e-6f;  // of every norm

// Latents [n, h, w, C] → tokens [n, h/2 · w/2, 4·C], row by row: the 2×2 pixels of a token with the channel outermost, (c, dy, dx).
// ShapeError unless h and w are even.
Tensor pack(const Tensor& latents);
// The reverse: tokens [n, h/2 · w/2, 4·C] → latents [n, h, w, C].
Tensor unpack(const Tensor& tokens, int64_t h, int64_t w);

// Rows and columns of an image's tokens.
struct Grid {
  int64_t rows = 0, columns = 0;
  int64_t tokens() const { return rows * columns; }
};
Grid grid_of(const Tensor& latents);

// Cosines and sines of the rotary position embedding, computed in f64 (θ = 10⁴), axis by axis: [1, L + T, 1, 2, head/2] for L text tokens,
// then those of the images. Image i has the positions (i, row, column), counted from its middle: rows −⌈h/2⌉ … ⌊h/2⌋ − 1. Text follows
// the largest ⌊h/2⌋ or ⌊w/2⌋ of all images, on all three axes.
Tensor rotary_table(const TransformerConfig& config, int64_t text_tokens, std::span<const Grid> images, Backend& backend);

// What the image is generated from. n is the number of images.
struct Conditions {
  Tensor text;                         // [n, L, config.text]
  std::span<const float> timesteps{};  // σ · 1000, one for all or one per image
};
// ShapeError unless x [n, T, in_channels] are the tokens of these images, at least one, and `given` is for n images.
void check(const TransformerConfig& config, const Tensor& x, std::span<const Grid> images, const Conditions& given);

using nn::Modulation;

// One timestep for all of n images, or one for each → [n, D], activated: what modulates.   Tap: its path, before the activation.
struct TimeTextEmbed {
  TimeTextEmbed(const Scope& w, const TransformerConfig& config);
  Tensor operator()(std::span<const float> timesteps, int64_t n, Backend& backend) const;

  nn::EmbeddingMlp timestep_embedder;
  std::string path;
};

// The modulations of consecutive image tokens, `begin` to `end`.
struct ModulatedRows {
  int64_t begin = 0, end = 0;
  Modulation::Vectors vectors;
};

// QwenImageTransformerBlock: two streams, text and image, with weights of their own, attend to each other's tokens.
struct JointBlock {
  JointBlock(const Scope& w, const TransformerConfig& config);
  // What modulates the rows from `begin` to `end` of the image's tokens: an activated embedding [n, D].
  struct Rows {
    int64_t begin = 0, end = 0;
    Tensor temb;
  };
  // image [n, T, D], text [n, L, D] → both replaced. The first of `rows` modulates the text, too. `table`: rotary_table of L + T tokens.
  void operator()(Tensor& image, Tensor& text, std::span<const Rows> rows, const Tensor& table) const;

  // What one stream has.
  struct Stream {
    Stream(const Scope& w, const TransformerConfig& config, bool text);
    // Shift, scale and gate of the attention, then of the MLP.
    Modulation::Vectors modulation(const Tensor& temb) const { return {mod(temb), width}; }
    std::array<Tensor, 3> projected(const Tensor& x, std::span<const ModulatedRows> m) const;  // q, k and v, normed: [n, T, N, head] each
    Tensor finish(const Tensor& x, const Tensor& attended, std::span<const ModulatedRows> m) const;  // adds attention and MLP to x

    nn::Linear mod;           // img_mod.1, txt_mod.1
    nn::Linear q, k, v, out;  // attn.to_q …, attn.to_out.0; attn.add_q_proj …, attn.to_add_out
    nn::RmsNorm norm_q, norm_k;
    nn::Linear up, down;  // img_mlp, txt_mlp: net.0.proj, net.2
    int64_t heads, width;
  };
  Stream image, text;
  std::string path;
};

// What control networks add to the image's tokens: the k tensors [n, T, D] of each list are spread over the N blocks, tensor ⌊i / ⌈N / k⌉⌋
// after block i.
using AddedAfterBlocks = std::vector<std::vector<Tensor>>;

struct Transformer {
  Transformer(const Scope& w, const TransformerConfig& config);

  // x [n, T, in_channels], the tokens of these images, the generated one first → the prediction for that one's tokens
  // [n, tokens, out_channels] f32. ShapeError if the shapes do not match. Taps: each block under diffusers' path, image tokens, and text
  // tokens under "PATH.context", without what is added.
  Tensor operator()(const Tensor& x, std::span<const Grid> images, const Conditions& given, const AddedAfterBlocks& added = {}) const;

  TransformerConfig config;
  TimeTextEmbed time_text_embed;
  nn::RmsNorm txt_norm;
  nn::Linear txt_in, img_in;
  Blocks<JointBlock> transformer_blocks;
  Modulation norm_out;  // scale, shift
  nn::Linear proj_out;
};

}  // namespace hearth::models::qwen_image
