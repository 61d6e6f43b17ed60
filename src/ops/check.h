// Checks that several ops share.
#pragma once

#include "core/backend.h"

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
  if (factors == DType::f32 || (factors == DType::bf16 && backend.multiplies_bf16())) return;
  fail<UnsupportedError>("{}: the backend {} {} has no products of {} factors", op, backend.name(), backend.features(), name_of(factors));
}

inline void check_epilogue(const char* op, const Epilogue& e, const Shape& out, int64_t batch) {
  if (e.residual && e.residual.shape() != out) fail<ShapeError>("{}: residual {} is added to y {}", op, e.residual.shape(), out);
  if (e.residual) require_float(op, e.residual);
  if (e.per_image && (e.per_image.shape() != Shape{batch, out[-1]} || e.per_image.dtype() != DType::f32 || !e.per_image.contiguous()))
    fail<ShapeError>("{}: per_image {} {} needed f32 [{}, {}] for y {}", op, name_of(e.per_image.dtype()), e.per_image.shape(), batch,
                     out[-1], out);
  if (e.out && *e.out != DType::f32 && !is_16bit_float(*e.out)) fail<ShapeError>("{}: y cannot be {}", op, name_of(*e.out));
}

}  // namespace hearth::ops
