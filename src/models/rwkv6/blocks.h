// The blocks of RWKV-6 (Peng et al. 2024, arXiv 2404.05892). Reference: the authors' package `rwkv` 0.8.32.
#pragma once

#include "parts/decoder/config.h"
#include "parts/decoder/recurrent_state.h"

namespace hearth::models::rwkv6 {

struct TimeMixConfig final : parts::OwnBlock {
  int64_t heads = 32, size = 64;             // H, N
  int64_t shift_rank = 32, decay_rank = 64;  // R
  float eps = 64e-5f;                        // of the norm of the heads' results
  float output_scale = 1;

  std::unique_ptr<parts::Block> build(const Scope& w, int64_t width, const std::vector<parts::RotaryConfig>& rotaries) const override;
};

// x [T, C], d = before − x:  x_c = x + d·(μ_c + low-rank_c(x + d·μ)) for c in w, k, v, r, g;  log decay = −exp(w₀ + low-rank(x_w));
//   y = Sᵀr + (Σ r·u·k)·v;  S ← diag(decay) S + k ⊗ v;  out = Wo (norm(y) ⊙ silu(W x_g))
// State: the last row that it received [1, C], and S [H, N, N].
class TimeMix final : public parts::Recurrence {
 public:
  TimeMix(const Scope& w, int64_t width, const TimeMixConfig& config);

  Tensor operator()(const Tensor& x, const Tensor& residual, const parts::Pass& pass, parts::States states) const override;

 private:
  TimeMixConfig config_;
  int64_t width_;
  Tensor shift_;                     // μ [C]
  Weight shift_down_;                // [5·R, C]
  std::vector<Weight> shift_up_;     // of w, k, v, r, g [C, R]
  std::vector<Tensor> shifts_;       // [C]
  Tensor decay_;                     // w₀ [C]
  Weight decay_down_, decay_up_;     // [R, C], [C, R]
  Tensor bonus_;                     // u [H, N]
  parts::Projection r_, k_, v_, g_;  // [C, C]
  parts::Projection o_;
  Tensor gamma_, beta_;  // [C], of the norm
};

}  // namespace hearth::models::rwkv6
