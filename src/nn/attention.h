// Multi-head attention with its four projections, under diffusers' names.
#pragma once

#include <cmath>
#include <span>

#include "nn/layers.h"

namespace hearth::nn {

// Keys and values of a context of its own, without bias.
struct ContextProjection {
  Linear to_k, to_v;  // [N·D, Cx]
};

// What the queries of an attention attend to besides its context, with a softmax of its own (Ye et al. 2023, arXiv 2308.06721).
struct FurtherContext {
  const ContextProjection& projection;
  const Tensor& context;  // [B, S, Cx]
  float scale = 1;        // of the result, which is added before to_out
  Tensor rows, factors;   // i32 and f32 [B·T]: 0, 1, 2 …, and the scale of each position; undefined: `scale` everywhere
};

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

  Tensor operator()(const Tensor& x, const Tensor& context, const Tensor& residual, std::span<const FurtherContext> further = {}) const {
    const int64_t B = x.size(0), T = x.size(1), N = heads, D = head_size;
    const DType factors = to_q.weight.form.factors;
    const Epilogue keys = inside(keys_of(factors));
    const Tensor q = to_q(x, inside(queries_of(factors, scale()))).view({B, T, N, D});
    Tensor y = attend(q, to_k(context, keys), to_v(context, keys), further.empty() ? read_by(to_out) : Stored::inner);
    for (const FurtherContext& f : further) {
      const Tensor z = attend(q, f.projection.to_k(f.context, keys), f.projection.to_v(f.context, keys), Stored::inner);
      y = f.factors ? ops::scatter_add(y.view({B * T, N * D}), z.view({B * T, N * D}), f.rows, f.factors).view(y.shape())
                    : ops::linear_combination({y, z}, {1, f.scale});
    }
    return to_out(y, {.residual = residual});
  }

  // q [B, T, N, D], k and v [B, S, N·D] → [B, T, N·D]
  Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, Stored stored) const {
    const auto [B, T, N, D] = q.dims<4>();
    const Shape split{B, k.size(1), N, D};
    return ops::attention(q, k.view(split), v.view(split), {.scale = scale(), .factors = to_q.weight.form.factors, .stored = stored})
        .view({B, T, N * D});
  }
  float scale() const { return 1.0f / std::sqrt(float(head_size)); }

  Linear to_q, to_k, to_v;  // [N·D, C or Cx]
  Linear to_out;            // [C, N·D]
  int64_t heads, head_size;
};

}  // namespace hearth::nn
