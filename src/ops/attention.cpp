#include "ops/attention.h"

#include <algorithm>
#include <cmath>

#include "ops/check.h"
#include "ops/shape_ops.h"
#include "ops/trace.h"

namespace hearth::ops {
namespace {

Tensor dense_heads(const Tensor& x) { return x.stride(-1) == 1 || x.size(-1) == 1 ? x : contiguous(x); }

void require_soft_cap(const char* op, float cap) {
  if (!(cap >= 0 && cap < INFINITY)) fail<ShapeError>("{}: soft cap is {}, expected a positive number, or 0 for none", op, cap);
}

bool is_one_or(int64_t size, int64_t all) { return size == 1 || size == all; }

void check(const AttentionSpec& spec, const Tensor& q, const Tensor& k, const Tensor& v) {
  const auto [B, T, N, D] = q.dims<4>();
  const int64_t S = k.size(1);
  if (spec.mask == Mask::causal && S != T)
    fail<ShapeError>("attention: q {} and k {} with a causal mask, expected as many keys as queries", q.shape(), k.shape());
  if (spec.window < 0) fail<ShapeError>("attention: window is {}, expected 0 or more", spec.window);
  require_soft_cap("attention", spec.soft_cap);
  if (const Tensor& b = spec.bias; b && (b.dtype() != DType::f32 || b.rank() != 4 || !is_one_or(b.size(0), B) || !is_one_or(b.size(1), N) ||
                                         !is_one_or(b.size(2), T) || b.size(3) != S || !b.contiguous()))
    fail<ShapeError>("attention: bias is {} {}, expected f32 [1 or {}, 1 or {}, 1 or {}, {}], contiguous", name_of(b.dtype()), b.shape(), B,
                     N, T, S);
  if (!spec.key_lengths.empty() && int64_t(spec.key_lengths.size()) != B)
    fail<ShapeError>("attention: {} key lengths for a batch of {}, expected one for each image", spec.key_lengths.size(), B);
  for (const int64_t length : spec.key_lengths)
    if (length < 0 || length > S) fail<ShapeError>("attention: key length {} is out of range for k {}", length, k.shape());
  require_vector("attention", "sinks", spec.sinks, N);
  require_factors("attention", spec.factors, q.backend());
  require_one_device("attention", q.backend(), {&k, &v, &spec.bias, &spec.sinks});
}

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionSpec& given) {
  require_float("attention", q);
  AttentionSpec spec = given;
  if (spec.factors == DType::i16) spec.factors = DType::f32;
  const auto [B, T, N, D] = q.dims<4>();
  const bool ranks = k.rank() == 4 && v.rank() == 4;
  const int64_t S = ranks ? k.size(1) : 0, G = ranks ? k.size(2) : 0, Dv = ranks ? v.size(3) : 0;
  if (!ranks || k.shape() != Shape{B, S, G, D} || v.shape() != Shape{B, S, G, Dv} || (G < 1 ? N != 0 : N % G != 0) ||
      k.dtype() != q.dtype() || v.dtype() != q.dtype())
    fail<ShapeError>(
        "attention: q {} {}, k {} {} and v {} {} are incompatible, expected k [{}, S, G, {}] and v [{}, S, G, Dv] of q's dtype, {} a "
        "multiple of G",
        name_of(q.dtype()), q.shape(), name_of(k.dtype()), k.shape(), name_of(v.dtype()), v.shape(), B, D, B, N);
  if (S < 1) fail<ShapeError>("attention: k {} has no keys", k.shape());
  check(spec, q, k, v);

  const OpTrace trace("attention", q, 2.0 * double(B * N) * double(T) * double(S) * double(D + Dv), spec.factors);
  Tensor y = Tensor::empty(q.backend(), {B, T, N, Dv}, q.dtype());
  if (y.numel() == 0) return y;
  q.backend().attention(dense_heads(q), dense_heads(k), dense_heads(v), spec, y);
  return trace.done(y, OpTrace::bytes_of(q) + OpTrace::bytes_of(k) + OpTrace::bytes_of(v) + (spec.bias ? OpTrace::bytes_of(spec.bias) : 0));
}

Tensor cached_attention(const Tensor& q, const KeyValues& cache, const CachedAttentionSpec& spec) {
  require_float("cached_attention", q);
  const auto [T, N, D] = q.dims<3>();
  const Tensor &k = cache.k, &v = cache.v;
  const bool readable = k && v && (k.dtype() == DType::f32 || is_16bit_float(k.dtype()) || k.dtype() == DType::q8_0);
  if (q.dtype() != DType::f32 || !readable || k.rank() != 3 || v.rank() != 3 || k.size(0) != v.size(0) || k.size(1) != v.size(1) ||
      k.dtype() != v.dtype() || k.size(2) != D || k.size(1) < 1 || N % k.size(1) != 0 || !k.contiguous() || v.stride(2) != 1)
    fail<ShapeError>(
        "cached_attention: q {} {}, k {} {} and v {} {} are incompatible, expected q [T, N, D] f32, k [C, G, {}] and v [C, G, Dv], N a "
        "multiple "
        "of "
        "G",
        name_of(q.dtype()), q.shape(), k ? name_of(k.dtype()) : "no", k.shape(), v ? name_of(v.dtype()) : "no", v.shape(), D);
  const int64_t C = k.size(0), G = k.size(1), Dv = v.size(2), last = cache.first + T;
  if (cache.first < 0 || cache.window < 0 || (last > C && (cache.window == 0 || T + cache.window - 1 > C)))
    fail<ShapeError>("cached_attention: positions {} to {} with a window of {} (0: none) exceed a KV cache of {}", cache.first, last - 1,
                     cache.window, C);
  require_soft_cap("cached_attention", spec.soft_cap);
  require_vector("cached_attention", "sinks", spec.sinks, N);
  require_one_device("cached_attention", q.backend(), {&k, &v, &spec.sinks});
  const int64_t seen = cache.window ? std::min(last, cache.window) : last;
  const OpTrace trace("cached_attention", q, 2.0 * double(T * N) * double(D + Dv) * double(seen));
  Tensor y = Tensor::empty(q.backend(), {T, N, Dv});
  if (y.numel() == 0) return y;
  q.backend().cached_attention(contiguous(q), cache, spec, y);
  return trace.done(y, OpTrace::bytes_of(q) + int64_t(bytes_of(k.dtype(), std::min(seen, C) * G * (D + Dv))));
}

}  // namespace hearth::ops
