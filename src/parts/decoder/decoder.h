// A decoder-only transformer as in Touvron et al. 2023: pre-norm, rotary positions, grouped queries, SwiGLU; with a window, biases, or
// norms of queries and keys if the config says so. Reference: transformers, modeling_llama.py and related models.
#pragma once

#include <span>

#include "nn/kv_cache.h"
#include "nn/layers.h"
#include "parts/decoder/config.h"

namespace hearth::parts {

// Cosines and sines of the current positions, and the pairs of elements that they rotate.
struct RotaryTable {
  Tensor table;  // [T, 2, R/2]
  RotaryPairs pairs;
};

// x [T, C] at positions first … first + T − 1, residual [T, C] → [T, C]
struct DecoderAttention {
  DecoderAttention(const Scope& w, const DecoderConfig& config);
  Tensor operator()(const Tensor& x, const Tensor& residual, const RotaryTable& rotary, nn::KvCache& cache, int64_t first) const;

  nn::Linear q_proj;                          // [N·D, C]
  nn::Linear k_proj, v_proj;                  // [G·D, C]
  nn::Linear o_proj;                          // [C, N·D]
  std::optional<nn::RmsNorm> q_norm, k_norm;  // [D]
  int64_t heads, groups, head;
};

// down(act(gate(x)) · up(x)) + residual.   x, residual [T, C] → [T, C]
struct DecoderMlp {
  DecoderMlp(const Scope& w, const DecoderConfig& config);
  Tensor operator()(const Tensor& x, const Tensor& residual) const;

  nn::Linear gate_proj, up_proj, down_proj;
  Activation activation;
};

struct DecoderLayer {
  DecoderLayer(const Scope& w, const DecoderConfig& config);
  Tensor operator()(const Tensor& x, const RotaryTable& rotary, nn::KvCache& cache, int64_t first) const;

  nn::RmsNorm input_layernorm;
  DecoderAttention self_attn;
  nn::RmsNorm post_attention_layernorm;
  DecoderMlp mlp;
  std::string path;
};

// The KV cache of one text; the network itself has no state.
struct DecoderState {
  std::vector<nn::KvCache> layers;
  int64_t length = 0;  // positions stored
};

struct Decoder {
  static constexpr int64_t chunk = 512;  // positions that are computed together

  Decoder(const Scope& w, const DecoderConfig& config);

  // Room for a text of `context` positions.
  DecoderState start(int64_t context, DType cache) const;
  int64_t state_bytes(int64_t context, DType cache) const;
  // The next tokens of the text → their hidden states after the last norm [T, C]. At most `chunk` tokens. `length`: length of the text
  // once all tokens being fed are in (it matters for rotary positions that scale with it). UsageError for an id outside the
  // vocabulary.
  Tensor hidden(std::span<const int32_t> ids, DecoderState& state, int64_t length) const;
  // hidden [T, C] → logits [T, V]
  Tensor logits(const Tensor& hidden) const { return ops::linear(hidden, lm_head); }

  // Positions that the cache of a layer holds for a text of `context`.
  static int64_t capacity(int64_t context, int64_t window) { return window && window + chunk - 1 < context ? window + chunk - 1 : context; }

  DecoderConfig config;
  nn::Embedding embed_tokens;
  std::vector<DecoderLayer> layers;
  nn::RmsNorm norm;
  Weight lm_head;  // [V, C]; the embedding table if they are tied
};

}  // namespace hearth::parts
