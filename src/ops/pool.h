// Pooling over one to three axes, channels last.
#pragma once

#include "core/backend.h"

namespace hearth::ops {

// The average or the maximum of each channel under a window. x [B, L, C], [B, H, W, C] or [B, F, H, W, C] → the same rank and dtype, with
// (n + before + after − size) / stride + 1 positions along each axis. ShapeError unless there is at least one position and no window lies
// entirely beyond an edge.
Tensor pool(const Tensor& x, const PoolSpec& spec);

}  // namespace hearth::ops
