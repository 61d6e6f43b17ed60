#include "ops/select.h"

#include "ops/check.h"
#include "ops/shape_ops.h"
#include "ops/trace.h"

namespace hearth::ops {
namespace {

// Requires `count` rows, or any number if `count` is negative.
void require_rows(const char* op, const Tensor& rows, int64_t count = -1) {
  const std::string needed = count < 0 ? "i32 [M]" : fmt::format("i32 [{}]", count);
  if (!rows) fail<ShapeError>("{}: has no rows, expected {}", op, needed);
  if (rows.dtype() != DType::i32 || rows.rank() != 1 || (count >= 0 && rows.size(0) != count) || !rows.contiguous())
    fail<ShapeError>("{}: rows is {} {}, expected {}", op, name_of(rows.dtype()), rows.shape(), needed);
}

}  // namespace

Tensor embedding(std::span<const int32_t> ids, const Tensor& table) {
  if (!table || !is_blocked(table.dtype())) require_float("embedding", table);
  const auto [V, C] = table.dims<2>();
  for (const int32_t id : ids)
    if (id < 0 || id >= V) fail<ShapeError>("embedding: id {} is out of range for the table {}", id, table.shape());
  const OpTrace trace("embedding", table);
  Tensor y = Tensor::empty(table.backend(), {int64_t(ids.size()), C}, DType::f32);
  if (y.numel() == 0) return y;
  table.backend().embedding(Tensor::from(table.backend(), {int64_t(ids.size())}, ids), contiguous(table), y);
  return trace.done(y, int64_t(bytes_of(table.dtype(), y.numel())));
}

TopK top_k(const Tensor& x, int64_t k) {
  require_float("top_k", x);
  if (x.rank() < 1) fail<ShapeError>("top_k: x is {}, expected [..., C]", x.shape());
  if (k < 1 || k > x.size(-1)) fail<ShapeError>("top_k: k = {} for rows of x {}, expected 1 to {}", k, x.shape(), x.size(-1));
  const OpTrace trace("top_k", x);
  TopK best{Tensor::empty(x.backend(), x.shape().with_last(k), x.dtype()), Tensor::empty(x.backend(), x.shape().with_last(k), DType::i32)};
  if (best.values.numel() == 0) return best;
  const int64_t C = x.size(-1), R = x.numel() / C;
  Tensor values = best.values.view({R, k}), columns = best.columns.view({R, k});
  x.backend().top_k(contiguous(x).view({R, C}), values, columns);
  trace.done(best.values, OpTrace::bytes_of(x) + OpTrace::bytes_of(best.columns));
  return best;
}

Tensor gather(const Tensor& x, const Tensor& rows) {
  require_float("gather", x);
  const auto [R, C] = x.dims<2>();
  require_rows("gather", rows);
  require_one_device("gather", x.backend(), {&rows});
  const OpTrace trace("gather", x);
  Tensor y = Tensor::empty(x.backend(), {rows.numel(), C}, x.dtype());
  if (y.numel() == 0) return y;
  x.backend().gather(contiguous(x), rows, y);
  return trace.done(y, OpTrace::bytes_of(y));
}

Tensor scatter_add(const Tensor& base, const Tensor& x, const Tensor& rows, const Tensor& factors) {
  require_float("scatter_add", x);
  const auto [M, C] = x.dims<2>();
  if (!base) fail<ShapeError>("scatter_add: has no base, expected f32 [R, {}]", C);
  if (base.rank() != 2 || base.size(1) != C || base.dtype() != DType::f32)
    fail<ShapeError>("scatter_add: base {} {} and x {} are incompatible, expected base f32 [R, {}]", name_of(base.dtype()), base.shape(),
                     x.shape(), C);
  require_rows("scatter_add", rows, M);
  require_vector("scatter_add", "factors", factors, M);
  require_one_device("scatter_add", x.backend(), {&base, &rows, &factors});
  const OpTrace trace("scatter_add", x);
  Tensor y = Tensor::empty(x.backend(), base.shape());
  if (y.numel() == 0) return y;
  x.backend().copy(base, y);
  if (M > 0) x.backend().scatter_add(contiguous(x), rows, factors, y);
  return trace.done(y, OpTrace::bytes_of(base) + OpTrace::bytes_of(x));
}

}  // namespace hearth::ops
