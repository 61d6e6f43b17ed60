// A gated state space whose heads decay as a whole (Dao & Gu 2024, arXiv 2405.21060). References: the authors' code; transformers, whose
// names of tensors these are.
//
//   z, xbc, dt = in_proj(u);  x, b, c = act(conv(xbc));  y = scan(x, dt, b, c);  out_proj(norm(y · silu(z)))
#pragma once

#include "parts/decoder/causal_conv.h"
#include "parts/decoder/norm.h"
#include "parts/decoder/projection.h"
#include "parts/decoder/recurrent_state.h"

namespace hearth::parts {

struct StateSpaceMixerConfig {
  int64_t heads = 80, head = 64;     // N, D
  int64_t states = 128, groups = 1;  // S of each channel; G groups of heads share b and c, and have norms of their own
  int64_t kernel = 4;
  Activation activation = Activation::silu;  // after the convolution
  bool bias = false, conv_bias = true;       // of in_proj and out_proj; of the convolution
  float least_step = 0, most_step = std::numeric_limits<float>::infinity();
  float eps = 1e-5f;        // of the norm
  bool gated_first = true;  // norm(y · silu(z)); else norm(y) · silu(z)
  bool logarithms = true;   // A_log holds log(−a); else it holds a

  bool operator==(const StateSpaceMixerConfig&) const = default;
};

// State: the last K − 1 inputs of the convolution [K − 1, I + 2·G·S], and the states [N, S, D].
class StateSpaceMixer final : public Recurrence {
 public:
  // in_proj [2·I + 2·G·S + N, C] with I = N·D, conv1d [I + 2·G·S, 1, K], dt_bias [N], A_log [N], D [N], norm [I], out_proj [C, I]
  StateSpaceMixer(const Scope& w, int64_t width, const StateSpaceMixerConfig& config);

  Tensor operator()(const Tensor& x, const Tensor& residual, const Pass& pass, States states) const override;

 private:
  Tensor gated_norm(const Tensor& y, const Tensor& gate) const;

  StateSpaceMixerConfig config_;
  Projection gate_, in_, dt_;  // rows of in_proj
  CausalConv conv_;
  StateSpaceSpec scan_;
  Tensor gamma_;  // [I]
  Projection out_;
};

}  // namespace hearth::parts
