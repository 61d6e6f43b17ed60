// Pooling over one to three axes, channels last.
#pragma once

#include "core/backend.h"

namespace hearth::ops {

// The average or the largest value under a window of each channel. x [B, L, C], [B, H, W, C] or [B, F, H, W, C] → the same rank and type,
// (n + before + after − size) / stride + 1 positions along each axis. ShapeError unless there is one at least and no window lies wholly
// beyond an edge.
Tensor pool(const Tensor& x, const PoolSpec& spec);

}  // namespace hearth::ops
