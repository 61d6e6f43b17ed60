#include "ops/norm.h"

#include "ops/check.h"
#include "ops/in_images.h"
#include "ops/shape_ops.h"
#include "ops/trace.h"

namespace hearth::ops {
namespace {

template <class Norm> Tensor over_last_axis(const char* op, const Tensor& x, const NormSpec& spec, Norm norm) {
  require_float(op, x);
  if (x.rank() < 1) fail<ShapeError>("{}: x is {}, expected [..., C]", op, x.shape());
  require_vector(op, "gamma", spec.gamma, x.size(-1));
  require_vector(op, "beta", spec.beta, x.size(-1));
  require_modulation(op, "scale", spec.scale, x, true);
  require_modulation(op, "shift", spec.shift, x, true);
  require_one_device(op, x.backend(), {&spec.gamma, &spec.beta, &spec.scale, &spec.shift});
  const DType out = stored_type(x.backend(), x.shape(), spec.out, spec.stored);
  require_output(op, out);

  const OpTrace trace(op, x);
  Tensor y = Tensor::empty(x.backend(), x.shape(), out);
  if (y.numel() == 0) return y;
  Tensor flat_y = in_images(y);
  norm(in_images(contiguous(x)), flat_y);
  return trace.done(y);
}

}  // namespace

Tensor group_norm(const Tensor& x, const GroupNormSpec& spec) {
  require_float("group_norm", x);
  if (x.rank() < 2) fail<ShapeError>("group_norm: x is {}, expected [B, ..., C]", x.shape());
  check_group_norm("group_norm", x, spec);

  const OpTrace trace("group_norm", x);
  Tensor y = Tensor::empty(x.backend(), x.shape(), x.dtype());
  if (y.numel() == 0) return y;
  Tensor flat_y = in_images(y);
  x.backend().group_norm(in_images(contiguous(x)), spec, flat_y);
  return trace.done(y);
}

Tensor layer_norm(const Tensor& x, const NormSpec& spec) {
  return over_last_axis("layer_norm", x, spec, [&](const Tensor& rows, Tensor& y) { x.backend().layer_norm(rows, spec, y); });
}

Tensor rms_norm(const Tensor& x, const NormSpec& spec) {
  if (spec.beta) fail<ShapeError>("rms_norm: beta is set, expected none");
  return over_last_axis("rms_norm", x, spec, [&](const Tensor& rows, Tensor& y) { x.backend().rms_norm(rows, spec, y); });
}

}  // namespace hearth::ops
