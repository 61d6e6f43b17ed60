#include "ops/pool.h"

#include "ops/check.h"
#include "ops/shape_ops.h"
#include "ops/trace.h"

namespace hearth::ops {

Tensor pool(const Tensor& x, const PoolSpec& spec) {
  require_float("pool", x);
  const int axes = x.rank() - 2;
  if (axes < 1 || axes > 3) fail<ShapeError>("pool: x is {}, expected [B, …, C] with one to three axes between", x.shape());
  Shape out{x.size(0)};
  for (int i = 0; i < axes; ++i) {
    const PoolSpec::Axis& a = spec.axis(i, axes);
    const int64_t n = x.size(1 + i), padded = n + a.before + a.after;
    if (a.size < 1 || a.stride < 1 || a.before < 0 || a.after < 0 || a.before >= a.size || a.after >= a.size || padded < a.size || n < 1)
      fail<ShapeError>("pool: a window of {} with stride {} and padding {}, {} is invalid for x {}", a.size, a.stride, a.before, a.after,
                       x.shape());
    out.push_back((padded - a.size) / a.stride + 1);
  }
  out.push_back(x.size(-1));
  const OpTrace trace("pool", x);
  Tensor y = Tensor::empty(x.backend(), out, x.dtype());
  if (y.numel() == 0) return y;
  x.backend().pool(contiguous(x), spec, y);
  return trace.done(y);
}

}  // namespace hearth::ops
