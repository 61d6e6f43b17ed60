// Weights that stay where they are, row by row as the file has them (WeightForm::in_place):  y [M, N] = epilogue(x [M, K] · wᵀ).
//
// Lanes of a register run along k and are added up at the end, in one order for all (kernels.h): so a row of y does not depend on
// how many others there are. A row of x, or a few, meet the rows of w as they come from memory (few_rows.cpp). Of more, w is widened
// a few rows at a time into scratch that stays in L1, and x, packed once, passes over it in tiles. Of many (rows_turned.cpp) both are
// turned into columns first, with what a lane would have summed as a run of k: the tile of packed products and the same sums.
// With bf16 factors x is rounded; of more rows both go to the products of bf16 (bf16.h), w as pairs of k (rows_bf16.cpp). Which of them
// is taken from how many rows on: route.h.
#pragma once

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/products/route.h"

namespace hearth::cpu {

struct RowsWeight final : CpuWeight {
  RowsWeight(Tensor w, RowType t) : CpuWeight(Layout::rows), rows(std::move(w)), type(t) {}
  Tensor rows;  // [N, K]
  RowType type;
};

std::optional<RowType> row_type(DType dtype);  // nothing for types that have no such products

}  // namespace hearth::cpu
