#include "ops/rope.h"

#include "ops/check.h"
#include "ops/shape_ops.h"
#include "ops/trace.h"

namespace hearth::ops {
namespace {

Tensor of_batch(const Tensor& table) {
  const auto [T, two, half] = table.dims<3>();
  return table.view({1, T, 1, two, half});
}

}  // namespace

Tensor rope(const Tensor& x, const Tensor& table, RotaryPairs pairs) {
  require_float("rope", x);
  const bool single = x.rank() == 3;
  if (x.rank() != 3 && x.rank() != 4) fail<ShapeError>("rope: x is {}, expected [B, T, N, D] or [T, N, D]", x.shape());
  const int64_t B = single ? 1 : x.size(0), T = x.size(-3), N = x.size(-2), D = x.size(-1);
  const Tensor angles = table && table.rank() == 3 && single && table.contiguous() ? of_batch(table) : table;
  const bool fits = angles && angles.rank() == 5 && angles.dtype() == DType::f32 && angles.contiguous() &&
                    (angles.size(0) == 1 || angles.size(0) == B) && angles.size(1) == T && (angles.size(2) == 1 || angles.size(2) == N) &&
                    angles.size(3) == 2 && angles.size(4) >= 1 && 2 * angles.size(4) <= D;
  if (!fits) {
    const std::string has = table ? fmt::format("and table {} {} are incompatible", name_of(table.dtype()), table.shape()) : "has no table";
    if (single) fail<ShapeError>("rope: x {} {}, expected f32 [{}, 2, at most {}], contiguous", x.shape(), has, T, D / 2);
    fail<ShapeError>("rope: x {} {}, expected f32 [1 or {}, {}, 1 or {}, 2, at most {}], contiguous", x.shape(), has, B, T, N, D / 2);
  }
  require_one_device("rope", x.backend(), {&table});
  const OpTrace trace("rope", x);
  Tensor y = Tensor::empty(x.backend(), x.shape(), x.dtype());
  if (y.numel() == 0) return y;
  const Tensor dense = x.stride(-1) == 1 ? x : contiguous(x);
  Tensor batch = single ? y.with_axis(0) : y;
  x.backend().rope(single ? dense.with_axis(0) : dense, angles, pairs, batch);
  return trace.done(y);
}

}  // namespace hearth::ops
