#include "ops/attention.h"

#include <algorithm>

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

  const OpTrace trace("attention", q, 4.0 * double(B * N) * double(T) * double(S) * double(D), factors);
  Tensor y = Tensor::empty(q.backend(), {B, T, N, D}, q.dtype());
  if (y.numel() == 0) return y;
  q.backend().attention(dense_heads(q), dense_heads(k), dense_heads(v), scale, mask, factors, y);
  return trace.done(y, OpTrace::bytes_of(q) + OpTrace::bytes_of(k) + OpTrace::bytes_of(v));
}

Tensor cached_attention(const Tensor& q, const KeyValues& cache, float scale) {
  require_float("cached_attention", q);
  const auto [T, N, D] = q.dims<3>();
  const Tensor &k = cache.k, &v = cache.v;
  const bool readable = k && v && (k.dtype() == DType::f32 || is_16bit_float(k.dtype()) || k.dtype() == DType::q8_0);
  if (q.dtype() != DType::f32 || !readable || k.rank() != 3 || k.shape() != v.shape() || k.dtype() != v.dtype() || k.size(2) != D ||
      k.size(1) < 1 || N % k.size(1) != 0 || !k.contiguous() || !v.contiguous())
    fail<ShapeError>(
        "cached_attention: q {} {}, k {} {} and v {} {} do not fit, needed q [T, N, D] f32 and k and v [C, G, {}], N a multiple of G",
        name_of(q.dtype()), q.shape(), k ? name_of(k.dtype()) : "no", k.shape(), v ? name_of(v.dtype()) : "no", v.shape(), D);
  const int64_t C = k.size(0), last = cache.first + T;
  if (cache.first < 0 || cache.window < 0 || (last > C && (cache.window == 0 || T + cache.window - 1 > C)))
    fail<ShapeError>("cached_attention: positions {} to {} with a window of {} (0: none) do not lie in a cache of {}", cache.first,
                     last - 1, cache.window, C);
  const int64_t seen = cache.window ? std::min(last, cache.window) : last;
  const OpTrace trace("cached_attention", q, 4.0 * double(T * N * D) * double(seen));
  Tensor y = Tensor::empty(q.backend(), q.shape());
  if (y.numel() == 0) return y;
  q.backend().cached_attention(contiguous(q), cache, scale, y);
  return trace.done(y, OpTrace::bytes_of(q) + 2 * int64_t(bytes_of(k.dtype(), std::min(seen, C) * k.size(1) * D)));
}

}  // namespace hearth::ops
