#include "ops/norm.h"

#include "ops/check.h"
#include "ops/shape_ops.h"
#include "ops/trace.h"

namespace hearth::ops {

Tensor group_norm(const Tensor& x, int64_t groups, const Tensor& gamma, const Tensor& beta, float eps, Activation act) {
  require_float("group_norm", x);
  if (x.rank() < 2) fail<ShapeError>("group_norm: x {} needed [B, ..., C]", x.shape());
  const int64_t B = x.size(0), C = x.size(-1);
  check_group_norm("group_norm", x, groups, gamma, beta);

  const OpTrace trace("group_norm", x);
  Tensor y = Tensor::empty(x.backend(), x.shape(), x.dtype());
  if (y.numel() == 0) return y;
  const Shape flat{B, x.numel() / (B * C), C};
  Tensor flat_y = y.view(flat);
  x.backend().group_norm(contiguous(x).view(flat), groups, gamma, beta, eps, act, flat_y);
  return trace.done(y);
}

Tensor layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, float eps) {
  require_float("layer_norm", x);
  if (x.rank() < 1) fail<ShapeError>("layer_norm: x {} needed [..., C]", x.shape());
  const int64_t C = x.size(-1);
  if (!gamma || !beta) fail<ShapeError>("layer_norm: gamma and beta are needed");
  require_vector("layer_norm", "gamma", gamma, C);
  require_vector("layer_norm", "beta", beta, C);

  const OpTrace trace("layer_norm", x);
  Tensor y = Tensor::empty(x.backend(), x.shape(), x.dtype());
  if (y.numel() == 0) return y;
  const Shape flat{x.numel() / C, C};
  Tensor flat_y = y.view(flat);
  x.backend().layer_norm(contiguous(x).view(flat), gamma, beta, eps, flat_y);
  return trace.done(y);
}

Tensor rms_norm(const Tensor& x, const Tensor& gamma, float eps) {
  require_float("rms_norm", x);
  if (x.rank() < 1) fail<ShapeError>("rms_norm: x {} needed [..., C]", x.shape());
  const int64_t C = x.size(-1);
  require_vector("rms_norm", "gamma", gamma, C);

  const OpTrace trace("rms_norm", x);
  Tensor y = Tensor::empty(x.backend(), x.shape(), x.dtype());
  if (y.numel() == 0) return y;
  const Shape flat{x.numel() / C, C};
  Tensor flat_y = y.view(flat);
  x.backend().rms_norm(contiguous(x).view(flat), gamma, eps, flat_y);
  return trace.done(y);
}

}  // namespace hearth::ops
