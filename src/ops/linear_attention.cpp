#include "ops/linear_attention.h"

#include "ops/check.h"
#include "ops/shape_ops.h"
#include "ops/trace.h"

namespace hearth::ops {

Tensor linear_attention(const Tensor& q, const Tensor& k, const Tensor& v, float eps) {
  constexpr const char* op = "linear_attention";
  require_float(op, q);
  const auto [B, T, N, D] = q.dims<4>();
  const auto require = [&](const char* what, const Tensor& x, bool fits, const char* expected) {
    if (!x) fail<ShapeError>("{}: {} is undefined, expected f32 {}", op, what, expected);
    if (!fits || x.dtype() != DType::f32)
      fail<ShapeError>("{}: {} is {} {}, expected f32 {} for q {}", op, what, name_of(x.dtype()), x.shape(), expected, q.shape());
  };
  require("q", q, true, "[B, T, N, D]");
  require("k", k, k && k.rank() == 4 && k.shape() == Shape{B, k.size(1), N, D}, "[B, S, N, D]");
  require("v", v, v && v.rank() == 4 && v.shape() == Shape{B, k.size(1), N, v.size(3)}, "[B, S, N, Dv]");
  require_one_device(op, q.backend(), {&k, &v});
  const int64_t Dv = v.size(3);
  const OpTrace trace(op, q, 2.0 * double(B * N * D * (Dv + 1)) * double(T + k.size(1)));
  Tensor y = Tensor::empty(q.backend(), {B, T, N, Dv});
  if (y.numel() == 0) return y;
  q.backend().linear_attention(contiguous(q), contiguous(k), contiguous(v), eps, y);
  return trace.done(y, OpTrace::bytes_of(q) + OpTrace::bytes_of(k) + OpTrace::bytes_of(v));
}

}  // namespace hearth::ops
