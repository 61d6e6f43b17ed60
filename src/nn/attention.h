// Multi-head attention with its four projections, under diffusers' names.
#pragma once

#include <cmath>

#include "nn/layers.h"

namespace hearth::nn {

// x [B, T, C], context [B, S, Cx] → to_out(softmax(q kᵀ / √D) v) + residual [B, T, C]; q from x, k and v from the context.
// heads · D may differ from C: the checkpoint determines the inner width.
struct Attention {
  Attention(const Scope& w, int64_t width, int64_t context_width, int64_t heads_, int64_t head_size_, Bias qkv)
      : to_q(w / "to_q", width, heads_ * head_size_, qkv),
        to_k(w / "to_k", context_width, heads_ * head_size_, qkv),
        to_v(w / "to_v", context_width, heads_ * head_size_, qkv),
        to_out(w / "to_out" / 0, heads_ * head_size_, width),
        heads(heads_),
        head_size(head_size_) {}

  Tensor operator()(const Tensor& x, const Tensor& context, const Tensor& residual) const {
    const int64_t B = x.size(0), T = x.size(1), S = context.size(1), N = heads, D = head_size;
    const Tensor q = to_q(x, inner).view({B, T, N, D}), k = to_k(context, inner).view({B, S, N, D}),
                 v = to_v(context, inner).view({B, S, N, D});
    const Tensor y = ops::attention(q, k, v, {.scale = 1.0f / std::sqrt(float(D)), .factors = to_q.weight.form.factors});
    return to_out(y.view({B, T, N * D}), {.residual = residual});
  }

  Linear to_q, to_k, to_v;  // [N·D, C or Cx]
  Linear to_out;            // [C, N·D]
  int64_t heads, head_size;
};

}  // namespace hearth::nn
