#include "ops/conv.h"

#include <algorithm>
#include <array>

#include "ops/branch.h"
#include "ops/check.h"
#include "ops/shape_ops.h"
#include "ops/trace.h"

namespace hearth::ops {
namespace {

constexpr std::array op_names{"conv1d", "conv2d", "conv3d"},
    op_names_after_norm{"group_norm+conv1d", "group_norm+conv2d", "group_norm+conv3d"};

// Extent of the dilated kernel, in positions.
int64_t reach(const ConvSpec::Axis& a, int64_t taps) { return a.dilation * (taps - 1) + 1; }

int64_t outputs(const ConvSpec::Axis& a, int64_t n, int64_t taps, bool transposed) {
  if (transposed) return (n - 1) * a.stride - a.before - a.after + reach(a, taps);
  const int64_t places = n + a.before + a.after - reach(a, taps);  // not counting the first
  return places < 0 ? 0 : places / a.stride + 1;
}

// The shape of y.
Shape check(const char* op, const Tensor& x, const Weight& w, const ConvSpec& spec) {
  const int axes = w.shape.rank() - 2;
  const bool transposed = w.kind == WeightKind::conv_transposed, resized = spec.resize_to != std::array<int64_t, 2>{0, 0};
  if (x.rank() != axes + 2)
    fail<ShapeError>("{}: x {} and weight {} {} are incompatible, expected x of rank {}", op, x.shape(), w.name, w.shape, axes + 2);
  if (w.form.groups < 1 || w.shape[0] % w.form.groups != 0)
    fail<ShapeError>("{}: {} groups do not divide the {} rows of weight {} {}", op, w.form.groups, w.shape[0], w.name, w.shape);
  if (w.in() < 1 || std::count(w.shape.begin() + 2, w.shape.end(), 0) > 0)
    fail<ShapeError>("{}: weight {} {} has no inputs", op, w.name, w.shape);
  if (x.size(-1) != w.in())
    fail<ShapeError>("{}: x {} has {} channels, weight {} {} needs {}", op, x.shape(), x.size(-1), w.name, w.shape, w.in());
  if (resized && (axes != 2 || transposed || x.size(1) < 1 || x.size(2) < 1 || spec.resize_to[0] < 1 || spec.resize_to[1] < 1))
    fail<ShapeError>("{}: x {} cannot be resized to {} × {}", op, x.shape(), spec.resize_to[0], spec.resize_to[1]);
  Shape y{x.size(0)};
  for (int i = 0; i < axes; ++i) {
    const ConvSpec::Axis& a = spec.axis(i, axes);
    const int64_t n = resized ? spec.resize_to[size_t(i)] : x.size(1 + i), taps = w.shape[2 + i];
    if (a.stride < 1 || a.dilation < 1)
      fail<ShapeError>("{}: stride is {} and dilation {}, expected at least 1 (weight {})", op, a.stride, a.dilation, w.name);
    if (transposed && a.edge != ConvSpec::Edge::zeros)
      fail<ShapeError>("{}: a transposed convolution does not support padding by repeated edges (weight {})", op, w.name);
    if (!transposed && (a.before < 0 || a.after < 0))
      fail<ShapeError>("{}: padding is {} and {}, expected 0 or more (weight {})", op, a.before, a.after, w.name);
    if (a.edge == ConvSpec::Edge::nearest && n < 1) fail<ShapeError>("{}: x {} has no edge to repeat", op, x.shape());
    y.push_back(outputs(a, n, taps, transposed));
    if (y[-1] < 1 && transposed) fail<ShapeError>("{}: x {} yields no output with the kernel of {} {}", op, x.shape(), w.name, w.shape);
    if (y[-1] < 1)
      fail<ShapeError>(
          "{}: x {} has {} positions along an axis, padding included, fewer than the kernel of {} {} covers, expected at least {}", op,
          x.shape(), n + a.before + a.after, w.name, w.shape, reach(a, taps));
  }
  y.push_back(w.out());
  return y;
}

}  // namespace

Tensor conv(const Tensor& x, const Weight& w, const Tensor& bias, const ConvSpec& spec, const Epilogue& e, const GroupNormSpec& norm) {
  const int axes = w.shape.rank() - 2;
  if (axes < 1 || axes > 3 || (w.kind != WeightKind::conv && w.kind != WeightKind::conv_transposed))
    fail<ShapeError>("conv: weight {} {} is not a convolution's, expected [out, in, kernel …] with one to three kernel axes", w.name,
                     w.shape);
  const char* const op = op_names[size_t(axes - 1)];
  require_float(op, x);
  const Shape out = check(op, x, w, spec);
  require_vector(op, "bias", bias, w.out());
  check_epilogue(op, e, out, w);
  if (norm) check_group_norm(op, x, norm);
  require_one_device(op, x, w, bias, e);

  if (w.branch) {
    const Tensor low = conv(x, w.branch->down, {}, spec, {.out = DType::f32}, norm);
    return conv(x, without_branch(w), bias, spec, with_branch(low, w, e), norm);
  }

  // Multiply-adds per value of y or, if transposed, per value of x.
  const bool transposed = w.kind == WeightKind::conv_transposed;
  const double products = double(transposed ? x.numel() : out.numel()) * double(w.shape.numel() / std::max<int64_t>(1, w.shape[0]));
  const OpTrace trace(norm ? op_names_after_norm[size_t(axes - 1)] : op, x, w, 2.0 * products);
  Tensor y = Tensor::empty(x.backend(), out, stored_type(x.backend(), out, e));
  if (y.numel() == 0) return y;
  Epilogue dense = e;
  if (e.residual) dense.residual = contiguous(e.residual);
  if (e.addend) dense.addend = contiguous(e.addend);
  x.backend().conv(contiguous(x), w, bias, spec, dense, x.numel() > 0 ? norm : GroupNormSpec(), y);
  return trace.done(y);
}

}  // namespace hearth::ops
