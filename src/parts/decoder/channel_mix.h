// The block of RWKV in the place of an MLP, which sees the token before, too. Reference: the authors' package `rwkv` 0.8.32.
//
//   x_k = x + (before − x)·μ_k;  y = value(max(key(x_k), 0)²);  where it is gated, y ⊙ σ(receptance(x_r))
#pragma once

#include "parts/decoder/projection.h"
#include "parts/decoder/recurrent_state.h"

namespace hearth::parts {

struct ChannelMixConfig {
  int64_t width = 0;            // of the hidden layer, I
  std::string shift = "x_k";    // name of μ_k
  std::string gate_shift = {};  // of μ_r; empty: not gated
  float output_scale = 1;       // of value

  bool operator==(const ChannelMixConfig&) const = default;
};

// State: the last row that it received [1, C].
class ChannelMix final : public Recurrence {
 public:
  // key [I, C], value [C, I], receptance [C, C] if it is gated
  ChannelMix(const Scope& w, int64_t width, const ChannelMixConfig& config);

  Tensor operator()(const Tensor& x, const Tensor& residual, const Pass& pass, States states) const override;

 private:
  Tensor shift_, gate_shift_;  // [C]
  Projection key_, value_;
  std::optional<Projection> gate_;
};

}  // namespace hearth::parts
