// The transformer of FLUX.2 (Black Forest Labs 2025), after diffusers' Flux2Transformer2DModel, 0.39.0: tokens of text and image in two
// streams that attend together (double blocks), then in one stream whose blocks compute attention and MLP side by side (single blocks;
// Dehghani et al. 2023, arXiv 2302.05442). All blocks of a kind share one modulation, and nothing has a bias.
//
//   latents [n, h, w, C] → x [n, T, C] → D ┐
//   text states [n, L, text] → D           ├→ double blocks → single blocks on [text, image] → the image's first rows → norm_out, proj_out
//   timestep, guidance → D: modulations    ┘   → [n, rows, C']
//
// The residual streams are f32, and so are the embeddings of timestep and guidance and the modulations.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/flux2/transformer_config.h"
#include "nn/layers.h"
#include "weights/blocks.h"

namespace hearth::models::flux2 {

// Place of an image token: which image (0 is the one that is generated; reference image i is 10 + 10·i), row, column.
using Position = std::array<int32_t, 3>;
// Appends the positions of an image of h × w tokens.
void append_positions(std::vector<Position>& positions, int32_t image, int64_t h, int64_t w);

// Cosines and sines of the rotary position embedding, computed in f64: [1, L + T, 1, 2, head/2] for text tokens l at (0, 0, 0, l), then
// image tokens at (image, row, column, 0); axis by axis.
Tensor rotary_table(const TransformerConfig& config, int64_t text_tokens, std::span<const Position> positions, Backend& backend);

// What the image is generated from. n is the number of images.
struct Conditions {
  Tensor text;                         // [n, L, config.text]
  std::span<const float> timesteps{};  // σ · 1000, one for all or one per image
  std::span<const float> guidance{};   // the guidance scale, one for all or one per image; empty if the network has no input for it
};

// Vectors that shift, scale and gate what the blocks of a kind compute.
class Modulation {
 public:
  Modulation(const Scope& w, int64_t width, int64_t count);
  // `count` vectors of each image, of the activated embedding [n, D].
  class Vectors {
   public:
    Vectors(Tensor all, int64_t width) : all_(std::move(all)), width_(width) {}
    Tensor gate(int64_t i) const { return ops::contiguous(at(i)); }
    // (1 + scale) · norm(x) + shift, with the vectors at i + 1 and i.
    Tensor norm(const Tensor& x, int64_t i, float eps, Stored stored) const {
      return ops::layer_norm(x, {.eps = eps, .scale = at(i + 1), .shift = at(i), .stored = stored});
    }

   private:
    Tensor at(int64_t i) const { return all_.slice(1, i * width_, (i + 1) * width_); }
    Tensor all_;
    int64_t width_;
  };
  Vectors operator()(const Tensor& embedding) const { return {linear_(embedding), width_}; }

 private:
  nn::Linear linear_;
  int64_t width_;
};

// linear_2(silu(linear_1(x)))
struct Embedding {
  Embedding(const Scope& w, int64_t in, int64_t width);
  Tensor operator()(const Tensor& x, const Tensor& added = {}) const;
  nn::Linear linear_1, linear_2;
};

// Flux2TransformerBlock: two streams, text and image, with weights of their own, attend to each other's tokens.
struct DoubleBlock {
  DoubleBlock(const Scope& w, const TransformerConfig& config);
  // image [n, T, D], text [n, L, D] → both replaced; `table`: rotary_table of L + T tokens.
  void operator()(Tensor& image, Tensor& text, const Modulation::Vectors& of_image, const Modulation::Vectors& of_text,
                  const Tensor& table) const;

  // What one stream has.
  struct Stream {
    Stream(const Scope& w, const TransformerConfig& config, bool text);
    Stored input() const { return nn::read_by(q, k, v); }                                        // of x
    std::array<Tensor, 3> projected(const Tensor& x) const;                                      // q, k and v, normed: [n, T, N, head] each
    Tensor finish(const Tensor& x, const Tensor& attended, const Modulation::Vectors& m) const;  // adds attention and MLP to x

    nn::Linear q, k, v, out;  // attn.to_q …, attn.to_out.0; attn.add_q_proj …, attn.to_add_out
    nn::RmsNorm norm_q, norm_k;
    Weight gate, up;  // the rows of ff.linear_in, ff_context.linear_in
    nn::Linear down;  // ff.linear_out
    int64_t heads;
    float eps;
  };
  Stream image, text;
  std::string path;
};

// Flux2SingleTransformerBlock: x + gate · to_out([attention, mlp]) with both from one norm and one projection.
struct SingleBlock {
  SingleBlock(const Scope& w, const TransformerConfig& config);
  Tensor operator()(const Tensor& x, const Modulation::Vectors& m, const Tensor& table) const;  // x [n, S, D] → the same shape

  Weight q, k, v, gate, up;  // the rows of attn.to_qkv_mlp_proj
  nn::RmsNorm norm_q, norm_k;
  nn::Linear out;
  int64_t heads;
  float eps;
  std::string path;
};

struct Transformer {
  Transformer(const Scope& w, const TransformerConfig& config);

  // x [n, T, in_channels] at T positions → the prediction for the first `rows` tokens [n, rows, out_channels] f32.
  // ShapeError if the shapes do not match. Taps: each block under diffusers' path, image tokens, and text tokens under "PATH.context";
  // single blocks have both, text first.
  Tensor operator()(const Tensor& x, std::span<const Position> positions, int64_t rows, const Conditions& given) const;

  TransformerConfig config;
  Embedding timestep_embedder;  // time_guidance_embed.…
  std::optional<Embedding> guidance_embedder;
  Modulation double_image, double_text, single;
  nn::Linear context_embedder, x_embedder;
  Blocks<DoubleBlock> transformer_blocks;
  Blocks<SingleBlock> single_transformer_blocks;
  nn::Linear norm_out;  // scale, shift
  nn::Linear proj_out;

 private:
  void check(const Tensor& x, size_t positions, int64_t rows, const Conditions& given) const;
};

}  // namespace hearth::models::flux2
