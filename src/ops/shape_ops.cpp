#include "ops/shape_ops.h"

#include <vector>

#include "ops/check.h"
#include "ops/trace.h"

namespace hearth::ops {
namespace {

Tensor copied(const Tensor& x, DType dtype) {
  require_float("copy", x);
  const OpTrace trace("copy", x);
  Tensor y = Tensor::empty(x.backend(), x.shape(), dtype);
  x.backend().copy(x, y);
  return trace.done(y);
}

}  // namespace

Tensor contiguous(const Tensor& x) { return x.contiguous() ? x : copied(x, x.dtype()); }
Tensor cast(const Tensor& x, DType dtype) { return x.dtype() == dtype ? x : copied(x, dtype); }

void store(const Tensor& x, Tensor y) {
  require_float("store", x);
  const bool writable = y && (is_op_float(y.dtype()) || (y.dtype() == DType::q8_0 && y.contiguous()));
  if (!writable || x.shape() != y.shape())
    fail<ShapeError>("store: x {} is incompatible with y {} {}", x.shape(), y ? name_of(y.dtype()) : "no", y.shape());
  require_one_device("store", x.backend(), {&y});
  if (x.numel() == 0) return;
  const OpTrace trace("copy", x);
  x.backend().copy(y.dtype() == DType::q8_0 ? contiguous(cast(x, DType::f32)) : x, y);
  trace.done(y);
}

Tensor concat(std::span<const Tensor> xs, int axis) {
  if (xs.empty()) fail<ShapeError>("concat: no tensors, expected at least one");
  for (const Tensor& x : xs) require_float("concat", x);
  Shape out = xs[0].shape();
  if (axis < 0) axis += out.rank();
  if (axis < 0 || axis >= out.rank()) fail<ShapeError>("concat: the axis is out of range for {}", out);
  out[axis] = 0;
  for (const Tensor& x : xs) {
    Shape rest = x.shape();
    if (rest.rank() == out.rank()) rest[axis] = out[axis];
    if (rest != out || x.dtype() != xs[0].dtype())
      fail<ShapeError>("concat: {} {} and {} {} differ in more than axis {}", name_of(xs[0].dtype()), xs[0].shape(), name_of(x.dtype()),
                       x.shape(), axis);
    require_one_device("concat", xs[0].backend(), {&x});
    out[axis] += x.size(axis);
  }
  const OpTrace trace("concat", xs[0]);
  Tensor y = Tensor::empty(xs[0].backend(), out, xs[0].dtype());
  int64_t begin = 0;
  for (const Tensor& x : xs) {
    Tensor part = y.slice(axis, begin, begin + x.size(axis));
    x.backend().copy(x, part);
    begin += x.size(axis);
  }
  return trace.done(y, OpTrace::bytes_of(y));
}

Tensor to_channels_last(const Tensor& x) {
  if (x.rank() != 4) fail<ShapeError>("to_channels_last: x is {}, expected [B, C, H, W]", x.shape());
  return contiguous(x.permute({0, 2, 3, 1}));
}

Tensor to_channels_first(const Tensor& x) {
  if (x.rank() != 4) fail<ShapeError>("to_channels_first: x is {}, expected [B, H, W, C]", x.shape());
  return contiguous(x.permute({0, 3, 1, 2}));
}

Tensor repeat_batch(const Tensor& x, int64_t times) {
  if (times < 1) fail<ShapeError>("repeat_batch: {} times {}, expected at least once", times, x.shape());
  const std::vector<Tensor> copies(size_t(times), x);
  return times == 1 ? x : concat(copies, 0);
}

Tensor resize_nearest(const Tensor& x, int64_t height, int64_t width) {
  require_float("resize_nearest", x);
  const auto [B, H, W, C] = x.dims<4>();
  if (H < 1 || W < 1 || height < 1 || width < 1)
    fail<ShapeError>("resize_nearest: x {} cannot be resized to {} × {}", x.shape(), height, width);
  const OpTrace trace("resize_nearest", x);
  Tensor y = Tensor::empty(x.backend(), {B, height, width, C}, x.dtype());
  x.backend().resize_nearest(contiguous(x), y);
  return trace.done(y);
}

}  // namespace hearth::ops
