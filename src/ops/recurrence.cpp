#include "ops/recurrence.h"

#include "ops/check.h"
#include "ops/trace.h"

namespace hearth::ops {
namespace {

// ShapeError unless x is f32 of this shape, and dense except for the distance between rows.
void require_rows_of(const char* op, const char* what, const Tensor& x, const Shape& shape) {
  if (!x) fail<ShapeError>("{}: {} is undefined, expected f32 {}", op, what, shape);
  if (x.dtype() != DType::f32 || x.shape() != shape || (x.size(1) > 1 && x.stride(1) != 1))
    fail<ShapeError>("{}: {} is {} {}, expected f32 {} with a dense last axis", op, what, name_of(x.dtype()), x.shape(), shape);
}

void require_dense(const char* op, const char* what, const Tensor& x, const Shape& shape) {
  if (!x) fail<ShapeError>("{}: {} is undefined, expected f32 {}", op, what, shape);
  if (x.dtype() != DType::f32 || x.shape() != shape || !x.contiguous())
    fail<ShapeError>("{}: {} is {} {}, expected f32 {}, contiguous", op, what, name_of(x.dtype()), x.shape(), shape);
}

// The sizes of x [T, C].
std::array<int64_t, 2> rows_and_channels(const char* op, const Tensor& x) {
  require_float(op, x);
  const std::array<int64_t, 2> sizes = x.dims<2>();
  require_rows_of(op, "x", x, x.shape());
  return sizes;
}

int64_t bytes_of_all(std::initializer_list<const Tensor*> all) {
  int64_t sum = 0;
  for (const Tensor* x : all) sum += *x ? int64_t(x->bytes()) : 0;
  return sum;
}

}  // namespace

Tensor causal_conv(const Tensor& x, const Tensor& taps, const Tensor& bias, Tensor tail, Activation act) {
  const auto [T, C] = rows_and_channels("causal_conv", x);
  if (!taps || taps.rank() != 2 || taps.size(0) < 1 || taps.size(1) != C)
    fail<ShapeError>("causal_conv: taps is {}, expected [K, {}] for x {}", taps ? taps.shape() : Shape{}, C, x.shape());
  const int64_t K = taps.size(0);
  require_dense("causal_conv", "taps", taps, {K, C});
  require_vector("causal_conv", "bias", bias, C);
  if (K > 1 || tail) require_dense("causal_conv", "tail", tail, {K - 1, C});
  require_one_device("causal_conv", x.backend(), {&taps, &bias, &tail});
  const OpTrace trace("causal_conv", x, 2.0 * double(T * C * K));
  Tensor y = Tensor::empty(x.backend(), x.shape());
  if (y.numel() == 0) return y;
  if (!tail) tail = Tensor::empty(x.backend(), {0, C});
  x.backend().causal_conv(x, taps, bias, act, tail, y);
  return trace.done(y, bytes_of_all({&x, &taps, &bias, &tail}));
}

Tensor selective_scan(const Tensor& x, const Tensor& dt, const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d, Tensor state) {
  constexpr const char* op = "selective_scan";
  const auto [T, C] = rows_and_channels(op, x);
  if (!a || a.rank() != 2 || a.size(1) != C)
    fail<ShapeError>("selective_scan: a is {}, expected [S, {}] for x {}", a ? a.shape() : Shape{}, C, x.shape());
  const int64_t S = a.size(0);
  require_rows_of(op, "dt", dt, {T, C});
  require_dense(op, "a", a, {S, C});
  require_rows_of(op, "b", b, {T, S});
  require_rows_of(op, "c", c, {T, S});
  require_vector(op, "d", d, C);
  require_dense(op, "state", state, {S, C});
  require_one_device(op, x.backend(), {&dt, &a, &b, &c, &d, &state});
  const OpTrace trace(op, x, 6.0 * double(T * C * S));
  Tensor y = Tensor::empty(x.backend(), x.shape());
  if (y.numel() == 0) return y;
  x.backend().selective_scan(x, dt, a, b, c, d, state, y);
  return trace.done(y, bytes_of_all({&x, &dt, &a, &b, &c, &d, &state}));
}

Tensor state_space_scan(const Tensor& x, const Tensor& dt, const Tensor& b, const Tensor& c, const StateSpaceSpec& spec, Tensor state) {
  constexpr const char* op = "state_space_scan";
  const auto [T, C] = rows_and_channels(op, x);
  if (!state || state.rank() != 3 || state.size(0) * state.size(2) != C)
    fail<ShapeError>("state_space_scan: state is {}, expected [N, S, D] with N · D = {} for x {}", state ? state.shape() : Shape{}, C,
                     x.shape());
  const auto [N, S, D] = state.dims<3>();
  if (spec.groups < 1 || N % spec.groups != 0)
    fail<ShapeError>("state_space_scan: {} groups do not divide {} heads of the state {}", spec.groups, N, state.shape());
  require_rows_of(op, "dt", dt, {T, N});
  require_rows_of(op, "b", b, {T, spec.groups * S});
  require_rows_of(op, "c", c, {T, spec.groups * S});
  require_dense(op, "a", spec.a, {N});
  require_vector(op, "d", spec.d, N);
  require_vector(op, "bias", spec.bias, N);
  require_dense(op, "state", state, {N, S, D});
  require_one_device(op, x.backend(), {&dt, &b, &c, &spec.a, &spec.d, &spec.bias, &state});
  const OpTrace trace(op, x, 6.0 * double(T * C * S));
  Tensor y = Tensor::empty(x.backend(), x.shape());
  if (y.numel() == 0) return y;
  x.backend().state_space_scan(x, dt, b, c, spec, state, y);
  return trace.done(y, bytes_of_all({&x, &dt, &b, &c, &spec.a, &spec.d, &spec.bias, &state}));
}

}  // namespace hearth::ops
