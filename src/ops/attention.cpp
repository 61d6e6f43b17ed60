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
  if (spec.out) require_output("attention", *spec.out);
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
      !is_op_float(k.dtype()) || !is_op_float(v.dtype()))
    fail<ShapeError>(
        "attention: q {} {}, k {} {} and v {} {} are incompatible, expected k [{}, S, G, {}] and v [{}, S, G, Dv] of f32, f16 or bf16, "
        "{} a multiple of G",
        name_of(q.dtype()), q.shape(), name_of(k.dtype()), k.shape(), name_of(v.dtype()), v.shape(), B, D, B, N);
  if (S < 1) fail<ShapeError>("attention: k {} has no keys", k.shape());
  check(spec, q, k, v);

  const OpTrace trace("attention", q, 2.0 * double(B * N) * double(T) * double(S) * double(D + Dv), spec.factors);
  Tensor y = Tensor::empty(q.backend(), {B, T, N, Dv}, stored_type(q.backend(), {B, T, N * Dv}, spec.out, spec.stored));
  if (y.numel() == 0) return y;
  q.backend().attention(dense_heads(q), dense_heads(k), dense_heads(v), spec, y);
  return trace.done(y, OpTrace::bytes_of(q) + OpTrace::bytes_of(k) + OpTrace::bytes_of(v) + (spec.bias ? OpTrace::bytes_of(spec.bias) : 0));
}

namespace {

// Returns the number of positions that the queries of the text see.
int64_t check_text(const Tensor& q, const KeyValues& text, int64_t T) {
  const int64_t N = q.size(1), D = q.size(2);
  const Tensor &k = text.k, &v = text.v;
  const bool readable = k && v && (is_op_float(k.dtype()) || k.dtype() == DType::q8_0);
  if (q.dtype() != DType::f32 || !readable || k.rank() != 3 || v.rank() != 3 || k.size(0) != v.size(0) || k.size(1) != v.size(1) ||
      k.dtype() != v.dtype() || k.size(2) != D || k.size(1) < 1 || N % k.size(1) != 0 || !k.contiguous() || v.stride(2) != 1)
    fail<ShapeError>(
        "cached_attention: q {} {}, k {} {} and v {} {} are incompatible, expected q [T, N, D] f32, k [C, G, {}] and v [C, G, Dv], N a "
        "multiple "
        "of "
        "G",
        name_of(q.dtype()), q.shape(), k ? name_of(k.dtype()) : "no", k.shape(), v ? name_of(v.dtype()) : "no", v.shape(), D);
  const Tensor& pages = text.pages;
  if (pages && (pages.rank() != 1 || pages.dtype() != DType::i32 || !pages.contiguous() || text.page < 1 || k.size(0) % text.page != 0))
    fail<ShapeError>("cached_attention: pages {} {} of {} positions do not divide k {}, expected i32 [P]", name_of(pages.dtype()),
                     pages.shape(), text.page, k.shape());
  const int64_t C = pages ? pages.size(0) * text.page : k.size(0), last = text.first + T;
  const bool ring = text.window > 0 && !pages;
  if (text.first < 0 || text.window < 0 || (last > C && (!ring || T + text.window - 1 > C)))
    fail<ShapeError>("cached_attention: positions {} to {} with a window of {} (0: none) exceed a KV cache of {}", text.first, last - 1,
                     text.window, C);
  require_one_device("cached_attention", q.backend(), {&k, &v, &pages});
  return text.window ? std::min(last, text.window) : last;
}

}  // namespace

Tensor cached_attention(const Tensor& q, const KeyValues& cache, const CachedAttentionSpec& spec) {
  require_float("cached_attention", q);
  KeyValues text = cache;
  text.queries = q.size(0);
  return cached_attention(q, std::span(&text, 1), spec);
}

Tensor cached_attention(const Tensor& q, std::span<const KeyValues> texts, const CachedAttentionSpec& spec) {
  require_float("cached_attention", q);
  const auto [T, N, D] = q.dims<3>();
  if (texts.empty()) fail<ShapeError>("cached_attention: no texts");
  require_soft_cap("cached_attention", spec.soft_cap);
  require_vector("cached_attention", "sinks", spec.sinks, N);
  require_one_device("cached_attention", q.backend(), {&spec.sinks});
  double flops = 0;
  int64_t rows = 0, bytes = OpTrace::bytes_of(q);
  for (const KeyValues& text : texts) {
    const int64_t seen = check_text(q, text, text.queries), width = D + text.v.size(2);
    if (text.v.size(2) != texts[0].v.size(2) || text.k.size(1) != texts[0].k.size(1) || text.k.dtype() != texts[0].k.dtype())
      fail<ShapeError>("cached_attention: texts have k {} and v {}, and k {} and v {}, expected the same heads and dtypes",
                       texts[0].k.shape(), texts[0].v.shape(), text.k.shape(), text.v.shape());
    rows += text.queries;
    flops += 2.0 * double(text.queries * N) * double(width) * double(seen);
    bytes += int64_t(bytes_of(text.k.dtype(), std::min(seen, text.k.size(0)) * text.k.size(1) * width));
  }
  if (rows != T) fail<ShapeError>("cached_attention: the texts have {} queries, expected the {} of q {}", rows, T, q.shape());
  const OpTrace trace("cached_attention", q, flops);
  Tensor y = Tensor::empty(q.backend(), {T, N, texts[0].v.size(2)});
  if (y.numel() == 0) return y;
  q.backend().cached_attention(contiguous(q), texts, spec, y);
  return trace.done(y, bytes);
}

}  // namespace hearth::ops
