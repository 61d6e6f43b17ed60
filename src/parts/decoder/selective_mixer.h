// A gated selective state space (Gu & Dao 2023, arXiv 2312.00752). Reference: transformers (the slow paths), whose names of tensors these
// are.
//
//   x, z = in_proj(u);  x = act(conv(x));  δ, b, c = x_proj(x);  dt = softplus(dt_proj(δ));  y = scan(x, dt, b, c) · act(z);  out_proj(y)
#pragma once

#include "parts/decoder/causal_conv.h"
#include "parts/decoder/norm.h"
#include "parts/decoder/projection.h"
#include "parts/decoder/recurrent_state.h"

namespace hearth::parts {

struct SelectiveMixerConfig {
  int64_t inner = 1536, states = 16;  // I, S: channels of the recurrence, and states of each
  int64_t kernel = 4, rank = 48;      // taps of the convolution; size of δ
  Activation activation = Activation::silu;
  bool bias = false, conv_bias = true;  // of in_proj and out_proj; of the convolution
  bool logarithms = true;               // A_log holds log(−a); else it holds a
  struct Norms {                        // RMS norms of δ, b and c
    float eps = 1e-6f;
    bool weights = false;  // dt_layernorm, b_layernorm, c_layernorm
    bool operator==(const Norms&) const = default;
  };
  std::optional<Norms> norms = {};

  bool operator==(const SelectiveMixerConfig&) const = default;
};

// Decay rates a < 0 [rows, columns], of a tensor of this shape that stores them or log(−a).
Tensor decay_rates(const Scope& w, const Shape& shape, bool logarithms);

// State: the last K − 1 inputs of the convolution [K − 1, I], and the states [S, I].
class SelectiveMixer final : public Recurrence {
 public:
  // in_proj [2·I, C], conv1d [I, 1, K], x_proj [rank + 2·S, I], dt_proj [I, rank] with bias, A_log [I, S], D [I], out_proj [C, I]
  SelectiveMixer(const Scope& w, int64_t width, const SelectiveMixerConfig& config);

  Tensor operator()(const Tensor& x, const Tensor& residual, const Pass& pass, States states) const override;

 private:
  SelectiveMixerConfig config_;
  Projection in_, gate_;  // [I, C]
  CausalConv conv_;
  Projection parameters_, dt_, out_;
  Tensor a_, d_;  // [S, I], [I]
  std::optional<Norm> dt_norm_, b_norm_, c_norm_;
};

}  // namespace hearth::parts
