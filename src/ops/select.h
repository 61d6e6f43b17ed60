// Rows by their numbers, and the numbers of what is largest.
#pragma once

#include <span>

#include "core/backend.h"

namespace hearth::ops {

// Rows of a table [V, C] of f32, f16, bf16 or a block type → f32 [ids, C]. ShapeError for an id outside the table.
Tensor embedding(std::span<const int32_t> ids, const Tensor& table);

struct TopK {
  Tensor values;   // [..., k] of x's type, falling
  Tensor columns;  // i32 [..., k]: where in the last axis they stand
};
// The k largest numbers of each row. Of equal ones the first stands first; NaN is larger than any number.
// ShapeError unless 1 ≤ k ≤ C for x [..., C].
TopK top_k(const Tensor& x, int64_t k);

// y[m] = x[rows[m]].   x [R, C], rows i32 [M] → [M, C]. ShapeError for a row that x does not have.
Tensor gather(const Tensor& x, const Tensor& rows);

// y = base; then y[rows[m]] += factors[m] · x[m], in the order of m.   base [R, C] f32, x [M, C] of any float type, rows i32 [M],
// factors f32 [M] or undefined (all 1) → [R, C] f32. ShapeError for a row that base does not have.
Tensor scatter_add(const Tensor& base, const Tensor& x, const Tensor& rows, const Tensor& factors = {});

}  // namespace hearth::ops
