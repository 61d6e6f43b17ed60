// Rotary position embedding (Su et al. 2021, arXiv 2104.09864).
#pragma once

#include "core/backend.h"

namespace hearth::ops {

// Turns the pairs (a, b) among the first R numbers of every head by the angle of its position: (a·cos − b·sin, b·cos + a·sin); the
// other D − R numbers stay. Positions along several axes (rows and columns of an image) have one table: the angles of the axes one after
// another. x [B, T, N, D] with table [1 or B, T, 1 or N, 2, R/2], or x [T, N, D] with table [T, 2, R/2]; table f32 (cosines, then sines),
// contiguous → the shape and type of x. ShapeError where they do not fit.
Tensor rope(const Tensor& x, const Tensor& table, RotaryPairs pairs);

}  // namespace hearth::ops
