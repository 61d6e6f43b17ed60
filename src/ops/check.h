// Checks that several ops share.
#pragma once

#include "core/backend.h"
#include "core/factors.h"

namespace hearth::ops {

inline void require_float(const char* op, const Tensor& x) {
  if (!x) fail<ShapeError>("{}: x is undefined", op);
  if (x.dtype() != DType::f32 && !is_16bit_float(x.dtype()))
    fail<ShapeError>("{}: x {} is {}, needed f32, f16 or bf16", op, x.shape(), name_of(x.dtype()));
}

// `v` is undefined or f32 [n], dense.
inline void require_vector(const char* op, const char* what, const Tensor& v, int64_t n) {
  if (v && (v.shape() != Shape{n} || v.dtype() != DType::f32 || !v.contiguous()))
    fail<ShapeError>("{}: {} is {} {}, needed f32 [{}]", op, what, name_of(v.dtype()), v.shape(), n);
}

inline void require_factors(const char* op, DType factors, const Backend& backend) {
  if (multiplies(backend, factors)) return;
  fail<UnsupportedError>("{}: the backend {} {} has no products of {} factors", op, backend.name(), backend.features(), name_of(factors));
}

inline void check_group_norm(const char* op, const Tensor& x, int64_t groups, const Tensor& gamma, const Tensor& beta) {
  const int64_t C = x.size(-1);
  if (groups < 1 || C % groups != 0) fail<ShapeError>("{}: {} groups do not divide C = {} of x {}", op, groups, C, x.shape());
  if (!gamma || !beta) fail<ShapeError>("{}: gamma and beta are needed", op);
  require_vector(op, "gamma", gamma, C);
  require_vector(op, "beta", beta, C);
}

inline void check_epilogue(const char* op, const Epilogue& e, const Shape& out, const Weight& w) {
  const int64_t batch = out.rank() > 1 ? out[0] : 1;
  if (e.residual && e.residual.shape() != out) fail<ShapeError>("{}: residual {} is added to y {}", op, e.residual.shape(), out);
  if (e.residual) require_float(op, e.residual);
  const auto require_each = [&](const char* what, const Tensor& t, int64_t columns) {
    if (t && (t.shape() != Shape{batch, columns} || t.dtype() != DType::f32 || !t.contiguous()))
      fail<ShapeError>("{}: {} {} {} needed f32 [{}, {}] for y {}", op, what, name_of(t.dtype()), t.shape(), batch, columns, out);
  };
  require_each("per_image", e.per_image, w.out());
  require_each("gate", e.gate, w.outputs());
  if (e.out && *e.out != DType::f32 && !is_16bit_float(*e.out)) fail<ShapeError>("{}: y cannot be {}", op, name_of(*e.out));
}

}  // namespace hearth::ops
