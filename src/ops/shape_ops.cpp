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
  const bool writable = y && (y.dtype() == DType::f32 || is_16bit_float(y.dtype()) || (y.dtype() == DType::q8_0 && y.contiguous()));
  if (!writable || x.shape() != y.shape())
    fail<ShapeError>("store: x {} does not fit into {} {}", x.shape(), y ? name_of(y.dtype()) : "no", y.shape());
  if (x.numel() == 0) return;
  const OpTrace trace("copy", x);
  x.backend().copy(y.dtype() == DType::q8_0 ? contiguous(cast(x, DType::f32)) : x, y);
  trace.done(y);
}

Tensor concat(std::span<const Tensor> xs, int axis) {
  if (xs.empty()) fail<ShapeError>("concat: nothing to join");
  for (const Tensor& x : xs) require_float("concat", x);
  Shape out = xs[0].shape();
  if (axis < 0) axis += out.rank();
  if (axis < 0 || axis >= out.rank()) fail<ShapeError>("concat: {} has no such axis", out);
  out[axis] = 0;
  for (const Tensor& x : xs) {
    Shape rest = x.shape();
    if (rest.rank() == out.rank()) rest[axis] = out[axis];
    if (rest != out || x.dtype() != xs[0].dtype())
      fail<ShapeError>("concat: {} {} and {} {} differ in more than axis {}", name_of(xs[0].dtype()), xs[0].shape(), name_of(x.dtype()),
                       x.shape(), axis);
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
  if (x.rank() != 4) fail<ShapeError>("to_channels_last: x {} needed [B, C, H, W]", x.shape());
  return contiguous(x.permute({0, 2, 3, 1}));
}

Tensor to_channels_first(const Tensor& x) {
  if (x.rank() != 4) fail<ShapeError>("to_channels_first: x {} needed [B, H, W, C]", x.shape());
  return contiguous(x.permute({0, 3, 1, 2}));
}

Tensor repeat_batch(const Tensor& x, int64_t times) {
  if (times < 1) fail<ShapeError>("repeat_batch: {} times {}", times, x.shape());
  const std::vector<Tensor> copies(size_t(times), x);
  return times == 1 ? x : concat(copies, 0);
}

Tensor resize_nearest(const Tensor& x, int64_t height, int64_t width) {
  require_float("resize_nearest", x);
  const auto [B, H, W, C] = x.dims<4>();
  if (H < 1 || W < 1 || height < 1 || width < 1) fail<ShapeError>("resize_nearest: {} cannot become {} × {}", x.shape(), height, width);
  const OpTrace trace("resize_nearest", x);
  Tensor y = Tensor::empty(x.backend(), {B, height, width, C}, x.dtype());
  x.backend().resize_nearest(contiguous(x), y);
  return trace.done(y);
}

Tensor embedding(const Tensor& ids, const Tensor& table) {
  if (ids.dtype() != DType::i32 || !ids.contiguous()) fail<ShapeError>("embedding: ids need i32, dense");
  if (!table || !is_blocked(table.dtype())) require_float("embedding", table);
  const auto [V, C] = table.dims<2>();
  if (ids.backend().computes())
    for (int64_t i = 0; i < ids.numel(); ++i)
      if (const int32_t id = ids.data<int32_t>()[i]; id < 0 || id >= V)
        fail<ShapeError>("embedding: id {} does not lie in the table {}", id, table.shape());
  Shape out = ids.shape();
  out.push_back(C);
  const OpTrace trace("embedding", table);
  Tensor y = Tensor::empty(ids.backend(), out, DType::f32);
  if (y.numel() == 0) return y;
  Tensor flat_y = y.view({ids.numel(), C});
  ids.backend().embedding(ids.view({ids.numel()}), contiguous(table), flat_y);
  return trace.done(y, int64_t(bytes_of(table.dtype(), y.numel())));
}

}  // namespace hearth::ops
