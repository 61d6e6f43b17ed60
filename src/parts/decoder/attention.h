// Attention to the text so far, with grouped queries and rotary positions (Vaswani et al. 2017, Su et al. 2021, Ainslie et al. 2023).
#pragma once

#include "parts/decoder/block.h"
#include "parts/decoder/norm.h"
#include "parts/decoder/projection.h"
#include "parts/decoder/rotary.h"

namespace hearth::parts {

// Norms of queries and keys, before the positions.
struct QkNormConfig {
  enum class Over {
    head,       // each head by itself, one weight [D] for all
    each_head,  // each head by itself, a weight [N, D], [G, D]
    all,        // all heads together, a weight [N·D], [G·D]
  };

  NormConfig norm = {};
  Over over = Over::head;
  std::string q = "q_norm", k = "k_norm";
  bool listed = false;  // each_head: as tensors norms.0.weight, norms.1.weight … [D]

  bool operator==(const QkNormConfig&) const = default;
};

struct AttentionConfig {
  int64_t heads = 32, groups = 32, head = 128;  // N query heads of size D share G heads of keys and values
  int rotary = 0;                               // of DecoderConfig::rotaries; no_positions: none
  int64_t window = 0;                           // number of keys that a query attends to, its own included; 0: all
  float scale = 0;                              // of q kᵀ; 0: 1/√D
  float soft_cap = 0;                           // of scores (CachedAttentionSpec); 0: none
  bool sinks = false;                           // one more logit for each head, whose value is zero
  bool qkv_bias = false, o_bias = false;
  // Behind the query of each head, q_proj has a gate of its size: the head's result is multiplied by sigmoid(gate).
  bool gated = false;
  bool fused = false;  // qkv_proj [(N + 2·G)·D, C] in place of q_proj, k_proj and v_proj, in this order
  std::optional<QkNormConfig> qk_norm = {};
  float output_scale = 1;  // of what is added to the residual stream
  struct Names {
    std::string q = "q_proj", k = "k_proj", v = "v_proj", qkv = "qkv_proj", o = "o_proj";
    bool operator==(const Names&) const = default;
  } names = {};

  static constexpr int no_positions = -1;
  bool operator==(const AttentionConfig&) const = default;
};

// A norm of the heads of q or k.   x [T, N·D] → [T, N, D]
struct HeadNorm {
  HeadNorm(const Scope& w, const std::string& name, int64_t heads, int64_t head, const QkNormConfig& config);
  Tensor operator()(const Tensor& x) const;

  QkNormConfig config;
  int64_t heads, head;
  std::optional<Norm> norm;  // of a head, or of all
  Tensor gamma;              // [N·D], each_head
};

class Attention final : public Block {
 public:
  Attention(const Scope& w, int64_t width, const std::vector<RotaryConfig>& rotaries, const AttentionConfig& config);

  Tensor operator()(const Tensor& x, const Tensor& residual, const Pass& pass, States states) const override;
  std::optional<nn::KvLayout> stored() const override;

 private:
  Tensor turned(const Tensor& x, const Pass& pass) const;

  AttentionConfig config_;
  RotaryPairs pairs_ = RotaryPairs::halves;
  Projection q_, k_, v_;  // [N·D, C] or with gates [N·2·D, C], [G·D, C], [G·D, C]
  Projection o_;          // [C, N·D]
  std::optional<HeadNorm> q_norm_, k_norm_;
  Tensor sinks_;  // [N]
};

}  // namespace hearth::parts
