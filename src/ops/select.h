// Rows selected by index, and the indices of the largest values.
#pragma once

#include <span>

#include "core/backend.h"

namespace hearth::ops {

// Rows of a table [V, C] of f32, f16, bf16 or a block type → f32 [ids, C]. ShapeError for an id outside the table.
Tensor embedding(std::span<const int32_t> ids, const Tensor& table);

struct TopK {
  Tensor values;   // [..., k] of x's dtype, in descending order
  Tensor columns;  // i32 [..., k]: their indices in the last axis
};
// The k largest values of each row. Among equal values the first comes first; NaN ranks above every number.
// ShapeError unless 1 ≤ k ≤ C for x [..., C].
TopK top_k(const Tensor& x, int64_t k);

// y[m] = x[rows[m]].   x [R, C], rows i32 [M] → [M, C]. ShapeError for a row index outside x.
Tensor gather(const Tensor& x, const Tensor& rows);

// y = base; then y[rows[m]] += factors[m] · x[m], in the order of m.   base [R, C] f32, x [M, C] of any float dtype, rows i32 [M],
// factors f32 [M] or undefined (all 1) → [R, C] f32. ShapeError for a row index outside base.
Tensor scatter_add(const Tensor& base, const Tensor& x, const Tensor& rows, const Tensor& factors = {});

}  // namespace hearth::ops
