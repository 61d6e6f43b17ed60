#include "ops/delta_rule.h"

#include "ops/check.h"
#include "ops/shape_ops.h"
#include "ops/trace.h"

namespace hearth::ops {
namespace {

void require_f32(const char* op, const char* what, const Tensor& x, const Shape& shape) {
  if (!x) fail<ShapeError>("{}: {} is undefined, expected f32 {}", op, what, shape);
  if (x.dtype() != DType::f32 || x.shape() != shape)
    fail<ShapeError>("{}: {} is {} {}, expected f32 {}", op, what, name_of(x.dtype()), x.shape(), shape);
}

// The dense tensor; undefined remains undefined.
Tensor dense_or_none(const Tensor& x) { return x ? contiguous(x) : x; }

void require_state(const char* op, const Tensor& state, const Shape& shape) {
  require_f32(op, "state", state, shape);
  if (!state.contiguous()) fail<ShapeError>("{}: state {} is not dense", op, state.shape());
}

}  // namespace

Tensor delta_rule(const DeltaRule& rule, Tensor state) {
  constexpr const char* op = "delta_rule";
  require_float(op, rule.q);
  if (!rule.v) fail<ShapeError>("{}: v is undefined", op);
  const auto [T, G, Dk] = rule.q.dims<3>();
  const auto [Tv, H, Dv] = rule.v.dims<3>();
  if (G == 0 || H % G != 0) fail<ShapeError>("{}: {} heads of q do not divide {} of v", op, G, H);
  require_f32(op, "q", rule.q, {T, G, Dk});
  require_f32(op, "k", rule.k, {T, G, Dk});
  require_f32(op, "v", rule.v, {T, H, Dv});
  const bool each = rule.decay && rule.decay.rank() == 3;
  require_f32(op, "decay", rule.decay, each ? Shape{T, H, Dk} : Shape{T, H});
  if (rule.beta) require_f32(op, "beta", rule.beta, {T, H});
  if (bool(rule.a) != bool(rule.b)) fail<ShapeError>("{}: only one of a and b is defined, expected both or none", op);
  if (rule.a && rule.beta) fail<ShapeError>("{}: a, b and beta are defined, expected a and b, or beta", op);
  if (rule.a) require_f32(op, "a", rule.a, {T, H, Dk});
  if (rule.b) require_f32(op, "b", rule.b, {T, H, Dk});
  require_state(op, state, {H, Dk, Dv});
  require_one_device(op, rule.q.backend(), {&rule.k, &rule.v, &rule.decay, &rule.beta, &rule.a, &rule.b, &state});

  const OpTrace trace(op, rule.v, double(T * H * Dk * Dv) * (rule.a || rule.beta ? 7 : 5));
  Tensor y = Tensor::empty(rule.q.backend(), {T, H, Dv});
  if (y.numel() == 0) return y;
  DeltaRule dense = rule;
  for (Tensor* x : {&dense.q, &dense.k, &dense.v, &dense.decay, &dense.beta, &dense.a, &dense.b}) *x = dense_or_none(*x);
  y.backend().delta_rule(dense, state, y);
  int64_t read = OpTrace::bytes_of(state);
  for (const Tensor* x : {&rule.q, &rule.k, &rule.v, &rule.decay, &rule.beta, &rule.a, &rule.b})
    if (*x) read += OpTrace::bytes_of(*x);
  return trace.done(y, read);
}

Tensor add_weighted(const Tensor& base, const Tensor& q, const Tensor& k, const Tensor& u, const Tensor& v) {
  constexpr const char* op = "add_weighted";
  require_float(op, q);
  if (!v) fail<ShapeError>("{}: v is undefined", op);
  const auto [T, H, Dk] = q.dims<3>();
  const auto [Tv, Hv, Dv] = v.dims<3>();
  require_f32(op, "q", q, {T, H, Dk});
  require_f32(op, "k", k, {T, H, Dk});
  require_f32(op, "u", u, {H, Dk});
  require_f32(op, "v", v, {T, H, Dv});
  require_f32(op, "base", base, {T, H, Dv});
  require_one_device(op, q.backend(), {&k, &u, &v, &base});

  const OpTrace trace(op, v);
  Tensor y = Tensor::empty(q.backend(), {T, H, Dv});
  if (y.numel() == 0) return y;
  y.backend().add_weighted(contiguous(base), contiguous(q), contiguous(k), contiguous(u), contiguous(v), y);
  return trace.done(y, OpTrace::bytes_of(base) + OpTrace::bytes_of(q) + OpTrace::bytes_of(k) + OpTrace::bytes_of(u) + OpTrace::bytes_of(v));
}

Tensor gated_scan(const Tensor& x, const Tensor& log_a, Tensor state, bool starts) {
  constexpr const char* op = "gated_scan";
  require_float(op, x);
  const auto [T, C] = x.dims<2>();
  require_f32(op, "x", x, {T, C});
  require_f32(op, "log_a", log_a, {T, C});
  require_state(op, state, {C});
  require_one_device(op, x.backend(), {&log_a, &state});

  const OpTrace trace(op, x);
  Tensor y = Tensor::empty(x.backend(), {T, C});
  if (y.numel() == 0) return y;
  y.backend().gated_scan(contiguous(x), contiguous(log_a), starts, state, y);
  return trace.done(y, OpTrace::bytes_of(x) + OpTrace::bytes_of(log_a) + OpTrace::bytes_of(state));
}

}  // namespace hearth::ops
