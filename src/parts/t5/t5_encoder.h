// The encoder of T5 (Raffel et al. 2020, arXiv 1910.10683; version 1.1 with gated MLPs), mT5 and UMT5, after transformers' T5EncoderModel.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "nn/layers.h"
#include "parts/t5/config.h"
#include "weights/blocks.h"

namespace hearth::parts {

// The bucket of a distance (key's position − query's): half of the buckets for keys after the query, half of each half for exact
// distances, the others logarithmic up to `farthest`.
int64_t t5_bucket(int64_t distance, int64_t buckets, int64_t farthest);

// What a layer's attention adds to the scores, by distance.
struct T5Bias {
  T5Bias(const Scope& w, const T5Config& config);
  // [1, N, T, T] f32
  Tensor operator()(int64_t T) const;

  nn::Embedding relative_attention_bias;  // [buckets, N]
  int64_t buckets, farthest;
};

// Self-attention over all tokens, without the factor 1/√D.   x, residual [B·T, C] → [B·T, C]
struct T5Attention {
  T5Attention(const Scope& w, const T5Config& config);
  Tensor operator()(const Tensor& x, const Tensor& residual, const Tensor& bias, const std::vector<int64_t>& lengths) const;

  nn::Linear q, k, v;  // [N·D, C], no bias
  nn::Linear o;        // [C, N·D]
  int64_t heads, head;
};

// wo(act(wi_0(x)) · wi_1(x)) + residual, or wo(act(wi(x))) + residual.   x, residual [B·T, C] → [B·T, C]
struct T5Mlp {
  T5Mlp(const Scope& w, const T5Config& config);
  Tensor operator()(const Tensor& x, const Tensor& residual) const;

  nn::Linear wi;                   // the gate (wi_0) if there is one
  std::optional<nn::Linear> wi_1;  // [F, C]
  nn::Linear wo;                   // [C, F]
  Activation activation;
};

// x + attention(norm(x)), then + mlp(norm(·)).   x [B·T, C] f32 → [B·T, C]
struct T5Block {
  T5Block(const Scope& w, const T5Config& config, bool has_bias);
  Tensor operator()(const Tensor& x, const Tensor& bias, const std::vector<int64_t>& lengths) const;

  std::optional<T5Bias> bias;  // layer.0.SelfAttention.relative_attention_bias
  T5Attention attention;       // layer.0.SelfAttention
  nn::RmsNorm attention_norm;  // layer.0.layer_norm
  T5Mlp mlp;                   // layer.1.DenseReluDense
  nn::RmsNorm mlp_norm;        // layer.1.layer_norm
  std::string path;
};

struct T5EncoderModel {
  T5EncoderModel(const Scope& w, const T5Config& config);

  // ids: B rows of T tokens each → f32 [B, T, C], after the final norm. Every row attends to all T tokens, including padding, or only to
  // the first lengths[b] ones; the rows of the other tokens are computed, too. The residual stream is f32 whatever the weights are: in
  // published checkpoints it exceeds the range of f16.
  // ShapeError for a ragged count of tokens or lengths, UsageError for an id outside the vocabulary.
  Tensor operator()(const std::vector<std::vector<int32_t>>& ids, const std::vector<int64_t>& lengths = {}) const;

  T5Config config;
  nn::Embedding shared;
  Blocks<T5Block> blocks;        // encoder.block.i
  nn::RmsNorm final_layer_norm;  // encoder.final_layer_norm
};

}  // namespace hearth::parts
