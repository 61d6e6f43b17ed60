#include "ops/matmul.h"

#include "ops/check.h"
#include "ops/shape_ops.h"
#include "ops/trace.h"

namespace hearth::ops {

Tensor linear(const Tensor& x, const Weight& w, const Tensor& bias, const Epilogue& e, const InputNorm& norm) {
  require_float("linear", x);
  if (w.shape.rank() != 2) fail<ShapeError>("linear: weight {} {} is not a matrix [out, in]", w.name, w.shape);
  const int64_t N = w.out(), K = w.in();
  if (x.rank() < 1 || x.size(-1) != K)
    fail<ShapeError>("linear: x {} ends in {} features, weight {} {} needs {}", x.shape(), x.rank() ? x.size(-1) : 0, w.name, w.shape, K);
  if (K < 1) fail<ShapeError>("linear: weight {} {} has no inputs", w.name, w.shape);
  require_vector("linear", "bias", bias, N);
  if (w.form.in_place && (x.dtype() != DType::f32 || w.kind != WeightKind::linear || norm || e.out.value_or(DType::f32) != DType::f32 ||
                          (e.residual && e.residual.dtype() != DType::f32)))
    fail<ShapeError>("linear: weight {} {} is held in place, which takes x, residual and y in f32 and no norm", w.name, w.shape);

  if (w.kind == WeightKind::glu && N % 2 != 0) fail<ShapeError>("linear: weight {} {} is not [2·out, in]", w.name, w.shape);
  const Shape out = x.shape().with_last(w.outputs());
  const int64_t B = x.rank() > 1 ? x.size(0) : 1;
  check_epilogue("linear", e, out, w);
  if (norm && x.rank() < 2) fail<ShapeError>("linear: x {} is to be normalised, needed [B, ..., K]", x.shape());
  if (norm) check_group_norm("linear", x, norm.groups, norm.gamma, norm.beta);
  const OpTrace trace(norm ? "group_norm+linear" : "linear", x, w, 2.0 * double(x.numel()) * double(N));
  const int64_t rows = x.numel() / K;
  Tensor y = Tensor::empty(x.backend(), out, e.out.value_or(x.dtype()));
  if (y.numel() == 0) return y;
  Epilogue flat = e;
  if (e.residual) flat.residual = contiguous(e.residual).view({B, rows / B, w.outputs()});
  Tensor flat_y = y.view({B, rows / B, w.outputs()});
  x.backend().linear(contiguous(x).view({B, rows / B, K}), w, bias, flat, norm, flat_y);
  return trace.done(y);
}

}  // namespace hearth::ops
