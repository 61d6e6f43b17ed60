#include "ops/attention.h"

#include "ops/check.h"
#include "ops/shape_ops.h"
#include "ops/trace.h"

namespace hearth::ops {
namespace {

Tensor dense_heads(const Tensor& x) { return x.stride(-1) == 1 || x.size(-1) == 1 ? x : contiguous(x); }

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, float scale, Mask mask, DType factors) {
  require_float("attention", q);
  const auto [B, T, N, D] = q.dims<4>();
  const int64_t S = k.rank() == 4 ? k.size(1) : 0;
  const Shape needed{B, S, N, D};
  if (k.shape() != needed || v.shape() != needed || k.dtype() != q.dtype() || v.dtype() != q.dtype())
    fail<ShapeError>("attention: q {} {}, k {} {} and v {} {} do not fit, needed k and v [{}, S, {}, {}] of q's type", name_of(q.dtype()),
                     q.shape(), name_of(k.dtype()), k.shape(), name_of(v.dtype()), v.shape(), B, N, D);
  if (S < 1) fail<ShapeError>("attention: k {} has no keys", k.shape());
  if (mask == Mask::causal && S != T)
    fail<ShapeError>("attention: a causal mask needs as many keys as queries, got q {} and k {}", q.shape(), k.shape());
  require_factors("attention", factors, q.backend());

  const OpTrace trace("attention", q, {}, 4.0 * double(B * N) * double(T) * double(S) * double(D), factors);
  Tensor y = Tensor::empty(q.backend(), {B, T, N, D}, q.dtype());
  if (y.numel() == 0) return y;
  q.backend().attention(dense_heads(q), dense_heads(k), dense_heads(v), scale, mask, factors, y);
  return trace.done(y, OpTrace::bytes_of(q) + OpTrace::bytes_of(k) + OpTrace::bytes_of(v));
}

}  // namespace hearth::ops
