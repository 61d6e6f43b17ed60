// Weights that stay in place, row by row as in the file (WeightForm::in_place):  y [M, N] = epilogue(x [M, K] · wᵀ).
//
// Lanes of a register run along k and are added up at the end, in one order for all (kernels.h), so that a row of y does not depend on
// the number of rows. One row of x, or a few, are multiplied with the rows of w as these arrive from memory (few_rows.cpp). For more, w is
// widened a few rows at a time into scratch that stays in L1, and x, packed once, passes over it in tiles. For many (rows_turned.cpp) both
// are transposed into columns first, with what a lane would have summed as a run of k: the tile of packed products and the same sums.
// With bf16 factors x is rounded; for more rows both use the bf16 products (bf16.h), with w as pairs of k (rows_bf16.cpp). route.h has the
// numbers of rows from which each is used.
#pragma once

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/products/route.h"

namespace hearth::cpu {

struct RowsWeight final : CpuWeight {
  RowsWeight(Tensor w, RowType t) : CpuWeight(Layout::rows), rows(std::move(w)), type(t) {}
  Tensor rows;  // [N, K]
  RowType type;
};

inline const RowsWeight& rows_of(const Weight& w) { return static_cast<const RowsWeight&>(*w.prepared); }

std::optional<RowType> row_type(DType dtype);  // nullopt for dtypes without such products

}  // namespace hearth::cpu
