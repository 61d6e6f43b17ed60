// Products with a weight that has a branch (WeightBranch): the branch is computed first, and enters the weight's own product.
#pragma once

#include "core/backend.h"

namespace hearth::ops {

// The weight alone.
Weight without_branch(const Weight& w);

// The epilogue of the weight's own product.   low = down · x, f32 [..., R]
Epilogue with_branch(const Tensor& low, const Weight& w, const Epilogue& e);

}  // namespace hearth::ops
