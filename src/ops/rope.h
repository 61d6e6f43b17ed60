// Rotary position embedding (Su et al. 2021, arXiv 2104.09864).
#pragma once

#include "core/backend.h"

namespace hearth::ops {

// Rotates the pairs (a, b) among the first R values of every head by the angle of its position: (a·cos − b·sin, b·cos + a·sin); the
// other D − R values are copied. Positions along several axes (rows and columns of an image) share one table, with the angles of one axis
// after another. x [B, T, N, D] with table [1 or B, T, 1 or N, 2, R/2], or x [T, N, D] with table [T, 2, R/2]; table f32 (cosines, then
// sines), contiguous → the shape and dtype of x. ShapeError for other shapes.
Tensor rope(const Tensor& x, const Tensor& table, RotaryPairs pairs);

}  // namespace hearth::ops
