// The blocks of RWKV-7 (Peng et al. 2025, arXiv 2503.14456). Reference: the authors' package `rwkv` 0.8.32, RWKV_x070.
#pragma once

#include "parts/decoder/config.h"
#include "parts/decoder/recurrent_state.h"

namespace hearth::models::rwkv7 {

struct TimeMixConfig final : parts::OwnBlock {
  bool first = false;             // layer 0, whose values the others mix in
  int64_t heads = 32, size = 64;  // H, N
  int64_t decay_rank = 64, rate_rank = 64, value_rank = 16, gate_rank = 128;
  float eps = 64e-5f;  // of the norm of the heads' results

  std::unique_ptr<parts::Block> build(const Scope& w, int64_t width, const std::vector<parts::RotaryConfig>& rotaries) const override;
};

// up(act(down(x))) + bias
struct LowRank {
  LowRank(const Scope& w, int64_t width, int64_t rank, bool bias, Activation activation);
  Tensor operator()(const Tensor& x, Activation after) const;

  parts::Projection down, up;  // [rank, C], [C, rank]
  Activation activation;
};

// x [T, C] → with x_c = x + (before − x)·μ_c:  r, k, v = W x;  decay e^w, w = −e^−½·σ(lora(x_w));  rate a = σ(lora(x_a));
//   v ← v + (v of layer 0 − v)·σ(lora(x_v));  κ = normalized k⊙k_k;  k ← k⊙(1 + (a − 1)⊙k_a)
//   S ← diag(e^w) S − (κ⊙a) ⊗ (Sᵀκ) + k ⊗ v;  y = norm(Sᵀr) + (Σ r·k·r_k)·v;  out = Wo (y⊙gate)
// State: the last row that it received [1, C], and S [H, N, N].
class TimeMix final : public parts::Recurrence {
 public:
  TimeMix(const Scope& w, int64_t width, const TimeMixConfig& config);

  Tensor operator()(const Tensor& x, const Tensor& residual, const parts::Pass& pass, parts::States states) const override;

 private:
  Tensor mixed_values(const Tensor& v, const Tensor& x, const parts::Pass& pass) const;

  TimeMixConfig config_;
  int64_t width_;
  std::array<Tensor, 6> shifts_;     // μ of r, w, k, v, a, g [C]
  parts::Projection r_, k_, v_, o_;  // [C, C]
  LowRank decay_, rate_;
  LowRank value_;  // not used in layer 0
  LowRank gate_;
  Tensor key_scale_, key_rate_, without_rate_;  // [C]: k_k, k_a, 1 − k_a
  Tensor bonus_;                                // r_k [H, N]
  Tensor key_gamma_;                            // [N]: 1/√N
  Tensor gamma_, beta_;                         // [C], of the norm
};

}  // namespace hearth::models::rwkv7
