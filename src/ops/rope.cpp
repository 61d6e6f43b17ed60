#include "ops/rope.h"

#include "ops/check.h"
#include "ops/shape_ops.h"
#include "ops/trace.h"

namespace hearth::ops {

Tensor rope(const Tensor& x, const Tensor& table, RotaryPairs pairs) {
  require_float("rope", x);
  const auto [T, N, D] = x.dims<3>();
  if (x.dtype() != DType::f32) fail<ShapeError>("rope: x {} is {}, needed f32", x.shape(), name_of(x.dtype()));
  if (!table || table.rank() != 3 || table.dtype() != DType::f32 || !table.contiguous() || table.size(0) != T || table.size(1) != 2 ||
      table.size(2) < 1 || 2 * table.size(2) > D)
    fail<ShapeError>("rope: x {} and table {} do not fit, needed f32 [{}, 2, at most {}]", x.shape(), table.shape(), T, D / 2);
  const OpTrace trace("rope", x);
  Tensor y = Tensor::empty(x.backend(), x.shape());
  if (y.numel() == 0) return y;
  x.backend().rope(x.stride(-1) == 1 ? x : contiguous(x), table, pairs, y);
  return trace.done(y);
}

}  // namespace hearth::ops
