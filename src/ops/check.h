// Checks shared by several ops.
#pragma once

#include "core/backend.h"
#include "core/factors.h"

namespace hearth::ops {

// The dtypes of what ops read and write.
constexpr bool is_op_float(DType d) { return d == DType::f32 || is_16bit_float(d); }

inline void require_float(const char* op, const Tensor& x) {
  if (!x) fail<ShapeError>("{}: x is undefined", op);
  if (!is_op_float(x.dtype())) fail<ShapeError>("{}: x {} is {}, expected f32, f16 or bf16", op, x.shape(), name_of(x.dtype()));
}

inline void require_output(const char* op, DType y) {
  if (!is_op_float(y)) fail<ShapeError>("{}: y is {}, expected f32, f16 or bf16", op, name_of(y));
}

// ShapeError unless `v` is undefined, or f32 [n] and dense.
inline void require_vector(const char* op, const char* what, const Tensor& v, int64_t n) {
  if (v && (v.shape() != Shape{n} || v.dtype() != DType::f32 || !v.contiguous()))
    fail<ShapeError>("{}: {} is {} {}, expected f32 [{}]", op, what, name_of(v.dtype()), v.shape(), n);
}

inline void require_factors(const char* op, DType factors, const Backend& backend) {
  if (multiplies(backend, factors)) return;
  fail<UnsupportedError>("{}: the backend {} {} does not multiply {} factors", op, backend.name(), backend.features(), name_of(factors));
}

// ShapeError unless all defined tensors are on one backend.
inline void require_one_device(const char* op, const Backend& device, std::initializer_list<const Tensor*> others) {
  for (const Tensor* t : others)
    if (*t && &t->backend() != &device)
      fail<ShapeError>("{}: x is on the backend {}, another operand {} on {}; expected all on one", op, device.name(), t->shape(),
                       t->backend().name());
}
inline void require_one_device(const char* op, const Tensor& x, const Weight& w, const Tensor& bias, const Epilogue& e) {
  if (w.backend != &x.backend())
    fail<ShapeError>("{}: x is on the backend {}, weight {} on {}; expected both on one", op, x.backend().name(), w.name,
                     w.backend->name());
  require_one_device(op, x.backend(), {&bias, &w.scale, &e.per_image, &e.addend, &e.gate, &e.residual});
}

// ShapeError unless scale or shift of a norm of x [B, ..., C] is undefined, or f32 [B, C] with a dense last axis; each_row: or [rows, C].
inline void require_modulation(const char* op, const char* what, const Tensor& v, const Tensor& x, bool each_row) {
  if (!v) return;
  const int64_t B = x.rank() > 1 ? x.size(0) : 1, C = x.size(-1), rows = C == 0 ? 0 : x.numel() / C;
  const bool fits = v.rank() == 2 && v.size(1) == C && (v.size(0) == B || (each_row && v.size(0) == rows));
  if (!fits || v.dtype() != DType::f32 || (v.stride(1) != 1 && C > 1))
    fail<ShapeError>("{}: {} is {} {}, expected f32 [{}, {}]{} with a dense last axis for x {}", op, what, name_of(v.dtype()), v.shape(), B,
                     C, each_row ? fmt::format(" or [{}, {}]", rows, C) : "", x.shape());
}

inline void check_group_norm(const char* op, const Tensor& x, const GroupNormSpec& spec) {
  const int64_t C = x.size(-1);
  if (spec.groups < 1 || C % spec.groups != 0)
    fail<ShapeError>("{}: {} groups do not divide C = {} of x {}", op, spec.groups, C, x.shape());
  require_vector(op, "gamma", spec.gamma, C);
  require_vector(op, "beta", spec.beta, C);
  require_modulation(op, "scale", spec.scale, x, false);
  require_modulation(op, "shift", spec.shift, x, false);
  require_one_device(op, x.backend(), {&spec.gamma, &spec.beta, &spec.scale, &spec.shift});
}

// The dtype in which a device stores a result [..., C] of this shape.
inline DType stored_type(const Backend& device, const Shape& y, std::optional<DType> out, Stored stored) {
  if (out) return *out;
  const bool few = y.numel() < fewest_bf16_rows * (y.rank() > 0 ? y[-1] : 1);
  return stored.inside ? device.inner_type(few ? stored.few : stored.many).value_or(DType::f32) : DType::f32;
}
inline DType stored_type(const Backend& device, const Shape& y, const Epilogue& e) {
  return stored_type(device, y, e.out || !e.residual ? e.out : e.residual.dtype(), e.stored);
}

inline void check_epilogue(const char* op, const Epilogue& e, const Shape& out, const Weight& w) {
  const int64_t batch = out.rank() > 1 ? out[0] : 1;
  if (e.residual && e.residual.shape() != out)
    fail<ShapeError>("{}: residual is {}, expected the shape of y, {}", op, e.residual.shape(), out);
  if (e.residual) require_float(op, e.residual);
  const auto require_each = [&](const char* what, const Tensor& t, int64_t columns) {
    if (t && (t.shape() != Shape{batch, columns} || t.dtype() != DType::f32 || !t.contiguous()))
      fail<ShapeError>("{}: {} is {} {}, expected f32 [{}, {}] for y {}", op, what, name_of(t.dtype()), t.shape(), batch, columns, out);
  };
  require_each("per_image", e.per_image, w.out());
  const Shape each = out.with_last(w.out());
  if (e.addend && (e.addend.shape() != each || e.addend.dtype() != DType::f32))
    fail<ShapeError>("{}: addend is {} {}, expected f32 {}", op, name_of(e.addend.dtype()), e.addend.shape(), each);
  if (e.addend && e.per_image) fail<ShapeError>("{}: per_image and addend are both given, expected one of them", op);
  require_each("gate", e.gate, w.outputs());
  if (e.out) require_output(op, *e.out);
}

}  // namespace hearth::ops
