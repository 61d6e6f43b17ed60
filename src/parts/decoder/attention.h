// Attention to the text so far, with grouped queries and rotary positions (Vaswani et al. 2017, Su et al. 2021, Ainslie et al. 2023).
#pragma once

#include "nn/kv_cache.h"
#include "parts/decoder/block.h"
#include "parts/decoder/norm.h"
#include "parts/decoder/rotary.h"

namespace hearth::parts {

struct AttentionConfig {
  int64_t heads = 32, groups = 32, head = 128;  // N query heads of size D share G heads of keys and values
  int rotary = 0;                               // of DecoderConfig::rotaries; no_positions: none
  int64_t window = 0;                           // number of keys that a query attends to, its own included; 0: all
  float scale = 0;                              // of q kᵀ; 0: 1/√D
  bool qkv_bias = false, o_bias = false;
  std::optional<NormConfig> qk_norm = {};  // of each head of q and k, before the positions: q_norm, k_norm

  static constexpr int no_positions = -1;
  bool operator==(const AttentionConfig&) const = default;
};

class Attention final : public Block {
 public:
  Attention(const Scope& w, int64_t width, const std::vector<RotaryConfig>& rotaries, const AttentionConfig& config);

  Tensor operator()(const Tensor& x, const Tensor& residual, const Pass& pass, BlockState* state) const override;
  std::unique_ptr<BlockState> start(int64_t context, DType cache) const override;
  int64_t state_bytes(int64_t context, DType cache) const override;

 private:
  // Positions that the KV cache holds for a text of `context`.
  int64_t capacity(int64_t context) const;
  Tensor turned(const Tensor& x, const Pass& pass) const;

  AttentionConfig config_;
  RotaryPairs pairs_ = RotaryPairs::halves;
  Backend* backend_;
  nn::Linear q_proj_;                    // [N·D, C]
  nn::Linear k_proj_, v_proj_;           // [G·D, C]
  nn::Linear o_proj_;                    // [C, N·D]
  std::optional<Norm> q_norm_, k_norm_;  // [D]
};

}  // namespace hearth::parts
