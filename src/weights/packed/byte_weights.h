// Matrices of 8-bit integers with one scale, or one for each row, as q8_0 with a step of 1 and these scales (TensorSource::scale); f32 if
// rows are not whole blocks.
#pragma once

#include "weights/packed/made_tensors.h"

namespace hearth {

// `weight` i8 [N, K], `scale` [1] or [N] (also of rank 2), times `factor`. WeightError if they do not fit.
MadeTensor byte_weight(const std::shared_ptr<const Parts>& parts, const std::string& weight, const std::string& scale, float factor = 1);

}  // namespace hearth
