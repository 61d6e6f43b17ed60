// Rows that a tensor names, as gather and scatter_add take them.
#pragma once

#include "core/tensor.h"

namespace hearth {

// rows[m] of i32 [M] on a host. ShapeError that names the op unless it lies in [0, count).
inline int64_t row_number(const char* op, const Tensor& rows, int64_t m, int64_t count) {
  const int64_t row = rows.data<int32_t>()[m];
  if (row < 0 || row >= count) fail<ShapeError>("{}: row {} does not lie in the {} that there are", op, row, count);
  return row;
}

}  // namespace hearth
