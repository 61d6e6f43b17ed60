// Row indices held in a tensor, for gather and scatter_add.
#pragma once

#include "core/tensor.h"

namespace hearth {

// rows[m] of i32 [M] on a host. ShapeError that names the op unless it is in [0, count).
inline int64_t row_number(const char* op, const Tensor& rows, int64_t m, int64_t count) {
  const int64_t row = rows.data<int32_t>()[m];
  if (row < 0 || row >= count) fail<ShapeError>("{}: row {} does not exist, expected one of {} rows", op, row, count);
  return row;
}

}  // namespace hearth
