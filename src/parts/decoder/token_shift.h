// What the blocks of RWKV see of the token before: the difference to it, of which each projection takes a part of its own
// (Peng et al. 2023, arXiv 2305.13048).
#pragma once

#include "core/tensor.h"

namespace hearth::parts {

// x [T, C], last [1, C]: the row in front of x, zeros at the start of a text → the row before each row minus that row [T, C].
// `last` becomes the last row of x.
Tensor token_shift(const Tensor& x, const Tensor& last);

}  // namespace hearth::parts
