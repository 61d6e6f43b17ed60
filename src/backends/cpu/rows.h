// Weights that stay where they are, row by row as the file has them (WeightForm::in_place).
#pragma once

#include "core/weight.h"

namespace hearth::cpu {

struct RowsWeight final : PreparedWeight {
  explicit RowsWeight(Tensor w) : rows(std::move(w)) {}
  Tensor rows;  // [N, K]
};

}  // namespace hearth::cpu
