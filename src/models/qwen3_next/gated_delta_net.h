// Gated DeltaNet (Yang et al. 2024, arXiv 2412.06464), as in transformers' Qwen3NextGatedDeltaNet: linear attention whose state is
// corrected by the delta rule and decays.
#pragma once

#include "parts/decoder/config.h"
#include "parts/decoder/recurrent_state.h"

namespace hearth::models::qwen3_next {

struct GatedDeltaNetConfig final : parts::OwnBlock {
  int64_t key_heads = 16, value_heads = 32;  // G, H: value head h has the query and key of head h / (H / G)
  int64_t key_size = 128, value_size = 128;  // Dk, Dv
  int64_t taps = 4;                          // K, of the convolution
  float eps = 1e-6f;                         // of the norm of the heads' results

  int64_t keys() const { return key_heads * key_size; }
  int64_t values() const { return value_heads * value_size; }
  int64_t mixed() const { return 2 * keys() + values(); }
  std::unique_ptr<parts::Block> build(const Scope& w, int64_t width, const std::vector<parts::RotaryConfig>& rotaries) const override;
};

// x [T, C] → queries, keys and values through a convolution over the last K tokens; decay exp(g) and strength β of each head;
//   S ← e^g S;  S ← S + k ⊗ β(v − Sᵀk);  y = Sᵀq / √Dk;  out = Wo (norm(y) · silu(z))
class GatedDeltaNet final : public parts::Recurrence {
 public:
  GatedDeltaNet(const Scope& w, int64_t width, const GatedDeltaNetConfig& config);

  Tensor operator()(const Tensor& x, const Tensor& residual, const parts::Pass& pass, parts::States states) const override;

 private:
  GatedDeltaNetConfig config_;
  parts::Projection qkv_;           // [2·G·Dk + H·Dv, C]
  parts::Projection z_;             // [H·Dv, C]
  parts::Projection ba_;            // [2·H, C]: for each key head the β of its value heads, then their steps
  Tensor taps_;                     // [K, 2·G·Dk + H·Dv]
  Tensor a_, dt_bias_;              // [H]: decay per step, negative; added to the steps
  Tensor query_gamma_, key_gamma_;  // [Dk]: 1/Dk and 1/√Dk
  nn::RmsNorm norm_;                // of a head [Dv]
  parts::Projection out_;           // [C, H·Dv]
};

}  // namespace hearth::models::qwen3_next
