// Rotary position embedding (Su et al. 2021, arXiv 2104.09864).
#pragma once

#include "core/backend.h"

namespace hearth::ops {

// Turns the pairs (a, b) among the first R numbers of every head by the angle of its position: (a·cos − b·sin, b·cos + a·sin); the
// other D − R numbers stay. x [T, N, D] f32, table [T, 2, R/2] f32 (cosines, then sines) → [T, N, D]. ShapeError where they do not fit.
Tensor rope(const Tensor& x, const Tensor& table, RotaryPairs pairs);

}  // namespace hearth::ops
