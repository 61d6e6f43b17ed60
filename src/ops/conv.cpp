#include "ops/conv.h"

#include "ops/check.h"
#include "ops/shape_ops.h"
#include "ops/trace.h"

namespace hearth::ops {

Tensor conv2d(const Tensor& x, const Weight& w, const Tensor& bias, const ConvSpec& spec, const Epilogue& e, const InputNorm& norm) {
  require_float("conv2d", x);
  const auto [B, H, W, C] = x.dims<4>();
  if (w.shape.rank() != 4) fail<ShapeError>("conv2d: weight {} {} is not [out, in, kh, kw]", w.name, w.shape);
  if (C != w.in()) fail<ShapeError>("conv2d: x {} has {} channels, weight {} {} needs {}", x.shape(), C, w.name, w.shape, w.in());
  if (spec.stride < 1) fail<ShapeError>("conv2d: stride {} of {} is not positive", spec.stride, w.name);
  require_vector("conv2d", "bias", bias, w.out());
  const auto [top, left, bottom, right] = spec.padding;
  const bool resized = spec.resize_to[0] > 0;
  if (resized && (H < 1 || W < 1 || spec.resize_to[1] < 1))
    fail<ShapeError>("conv2d: x {} cannot be resized to {} × {}", x.shape(), spec.resize_to[0], spec.resize_to[1]);
  const int64_t height = (resized ? spec.resize_to[0] : H) + top + bottom, width = (resized ? spec.resize_to[1] : W) + left + right;
  if (height < w.shape[2] || width < w.shape[3])
    fail<ShapeError>("conv2d: x {} padded to {} × {} is smaller than the kernel of {} {}", x.shape(), height, width, w.name, w.shape);
  const Shape out{B, (height - w.shape[2]) / spec.stride + 1, (width - w.shape[3]) / spec.stride + 1, w.out()};
  check_epilogue("conv2d", e, out, w);
  if (norm) check_group_norm("conv2d", x, norm.groups, norm.gamma, norm.beta);

  const OpTrace trace(norm ? "group_norm+conv2d" : "conv2d", x, w, 2.0 * double(out.numel()) * double(C * w.shape[2] * w.shape[3]));
  Tensor y = Tensor::empty(x.backend(), out, e.out.value_or(x.dtype()));
  if (y.numel() == 0) return y;
  Epilogue dense = e;
  if (e.residual) dense.residual = contiguous(e.residual);
  x.backend().conv2d(contiguous(x), w, bias, spec, dense, x.numel() > 0 ? norm : InputNorm(), y);
  return trace.done(y);
}

}  // namespace hearth::ops
