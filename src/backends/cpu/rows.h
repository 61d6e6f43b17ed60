// Weights that stay where they are, row by row as the file has them (WeightForm::in_place):  y [M, N] = epilogue(x [M, K] · wᵀ).
//
// Lanes of a register run along k and are added up at the end, in one order for all (kernels.h): so a row of y does not depend on
// how many others there are. A row of x, or a few, meet the rows of w as they come from memory (few_rows.cpp). Of more, w is widened
// a few rows at a time into scratch that stays in L1, and x, packed once, passes over it in tiles. Of many (rows_turned.cpp) both are
// turned into columns first, with what a lane would have summed as a run of k: the tile of packed products and the same sums.
// With bf16 factors x is rounded; of 16 rows and more both go to the products of bf16 (bf16.h), w as pairs of k (rows_bf16.cpp).
#pragma once

#include "backends/cpu/kernels/kernels.h"
#include "core/factors.h"

namespace hearth::cpu {

struct RowsWeight final : PreparedWeight {
  RowsWeight(Tensor w, RowType t, DType f) : rows(std::move(w)), type(t), factors(f) {}
  Tensor rows;  // [N, K]
  RowType type;
  DType factors;

  // Where x is not met by products of bf16 (rows_bf16.cpp): whether it is by the stored integers, and whether it is rounded to bf16.
  bool integers() const { return factors_of_few() == DType::i16; }
  bool rounds_x() const { return factors_of_few() == DType::bf16; }

 private:
  DType factors_of_few() const { return factors_of({.hold = rows.dtype(), .factors = factors, .in_place = true}, 1); }
};

// Whether so many rows of x meet w one by one (few_rows.cpp).
bool are_few(int64_t rows, const RowsWeight& w);

std::optional<RowType> row_type(DType dtype);  // nothing for types that have no such products

}  // namespace hearth::cpu
