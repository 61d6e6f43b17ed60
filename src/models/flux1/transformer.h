// The transformer of FLUX.1 (Black Forest Labs 2024), after diffusers' FluxTransformer2DModel, 0.39.0: tokens of text and image in two
// streams that attend together (double blocks; Esser et al. 2024, arXiv 2403.03206), then in one stream whose blocks compute attention and
// MLP side by side (single blocks; Dehghani et al. 2023, arXiv 2302.05442).
//
//   latents [n, h, w, C] → pack() → x [n, T, 4·C] → D ┐
//   T5's states [n, L, text] → D                      ├→ double blocks → single blocks on [text, image] → the image's first rows → norm_out
//   → timestep, guidance, pooled text → D: modulations  ┘   proj_out → [n, rows, 4·C'] → unpack()
//
// The residual streams are f32, and so are the embeddings of timestep, guidance and pooled text and the modulations.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/flux1/transformer_config.h"
#include "nn/conditioning.h"
#include "weights/blocks.h"

namespace hearth::models::flux1 {

// Latents [n, h, w, C] → tokens [n, h/2 · w/2, 4·C], row by row: the 2×2 pixels of a token with the channel outermost, (c, dy, dx).
// ShapeError unless h and w are even.
Tensor pack(const Tensor& latents);
// The reverse: tokens [n, h/2 · w/2, 4·C] → latents [n, h, w, C].
Tensor unpack(const Tensor& tokens, int64_t h, int64_t w);

// Place of an image token: which image (0 is the one that is generated), row and column of tokens.
using Position = std::array<int32_t, 3>;
// Appends the positions of image number `image`, of h × w latent pixels.
void append_positions(std::vector<Position>& positions, int32_t image, int64_t h, int64_t w);

// Cosines and sines of the rotary position embedding, computed in f64 (θ = 10⁴): [1, L + T, 1, 2, head/2] for L text tokens, all at
// position 0, and T image tokens; axis by axis.
Tensor rotary_table(const TransformerConfig& config, int64_t text_tokens, std::span<const Position> positions, Backend& backend);

// What the image is generated from. n is the number of images.
struct Conditions {
  Tensor text;                         // [n, L, config.text]
  Tensor pooled;                       // [n, config.pooled] f32
  std::span<const float> timesteps{};  // σ · 1000, one for all or one per image
  std::span<const float> guidance{};   // the guidance scale, one for all or one per image; empty if the network has no input for it
};

using nn::EmbeddingMlp, nn::Modulation;

// q, k and v of a stream with RMS-normalized heads.   [n, T, D] → [n, T, N, head] each
struct Projections {
  // Names of the layers: "to_q", …, "norm_q", "norm_k", or with "add" the text's.
  Projections(const Scope& w, const TransformerConfig& config, bool added);
  std::array<Tensor, 3> operator()(const Tensor& x) const;
  Stored input() const { return nn::read_by(q, k, v); }  // of x

  nn::Linear q, k, v;
  nn::RmsNorm norm_q, norm_k;
  int64_t heads;
};

// FluxTransformerBlock: two streams, text and image, with weights of their own, attend to each other's tokens.
struct DoubleBlock {
  DoubleBlock(const Scope& w, const TransformerConfig& config);
  // image [n, T, D], text [n, L, D] → both replaced; temb [n, D] activated; `table`: rotary_table of L + T tokens.
  void operator()(Tensor& image, Tensor& text, const Tensor& temb, const Tensor& table) const;

  // What one stream has.
  struct Stream {
    Stream(const Scope& w, const TransformerConfig& config, bool text);
    Tensor finish(const Tensor& x, const Tensor& attended, const Modulation::Vectors& m) const;  // adds attention and MLP to x

    Modulation norm1;  // norm1, norm1_context: shift, scale, gate of the attention, shift, scale, gate of the MLP
    Projections projections;
    nn::Linear out;       // attn.to_out.0, attn.to_add_out
    nn::Linear up, down;  // ff, ff_context: net.0.proj, net.2
  };
  Stream image, text;
  std::string path;
};

// FluxSingleTransformerBlock: x + gate · proj_out([attention, mlp]) with both from one norm.
struct SingleBlock {
  SingleBlock(const Scope& w, const TransformerConfig& config);
  // x [n, S, D], temb and table as above → the same shape
  Tensor operator()(const Tensor& x, const Tensor& temb, const Tensor& table) const;

  Modulation norm;  // shift, scale, gate
  Projections projections;
  nn::Linear proj_mlp, proj_out;
  std::string path;
};

// ShapeError unless the conditions are those of n images.
void check_conditions(const TransformerConfig& config, const Conditions& given, int64_t n);

// Timestep, guidance and pooled text → [n, D], activated: every use of it starts with this activation.
struct TimeTextEmbed {
  TimeTextEmbed(const Scope& w, const TransformerConfig& config);
  Tensor operator()(const Conditions& given, int64_t n) const;

  EmbeddingMlp timestep_embedder;
  std::optional<EmbeddingMlp> guidance_embedder;
  EmbeddingMlp text_embedder;
  std::string path;
};

// What control networks add to the image's tokens: tensors [n, T, D], each after some of the blocks.
struct AddedAfterBlocks {
  struct List {
    std::vector<Tensor> tensors;
    bool cycles = false;  // block i gets tensor i mod k of k; if not, tensor ⌊i / ⌈blocks / k⌉⌋

    const Tensor& after(int64_t block, int64_t blocks) const;
  };
  std::vector<List> double_blocks, single_blocks;
};

struct Transformer {
  Transformer(const Scope& w, const TransformerConfig& config);

  // x [n, T, in_channels] at T positions → the prediction for the first `rows` tokens [n, rows, out_channels] f32.
  // ShapeError if the shapes do not match. Taps: each block under diffusers' path, image tokens, and text tokens under "PATH.context";
  // single blocks have both, text first.
  // `added`: requires that all tokens are predicted, rows = T.
  Tensor operator()(const Tensor& x, std::span<const Position> positions, int64_t rows, const Conditions& given,
                    const AddedAfterBlocks& added = {}) const;

  TransformerConfig config;
  TimeTextEmbed time_text_embed;
  nn::Linear context_embedder, x_embedder;
  Blocks<DoubleBlock> transformer_blocks;
  Blocks<SingleBlock> single_transformer_blocks;
  Modulation norm_out;  // scale, shift
  nn::Linear proj_out;
};

}  // namespace hearth::models::flux1
