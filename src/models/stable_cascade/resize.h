// Bilinear resizing of feature maps.
#pragma once

#include "core/tensor.h"

namespace hearth::models::stable_cascade {

// torch's bilinear interpolation with align_corners: the corners of x and y coincide; position i of n' lies at i·(n − 1)/(n' − 1), or at 0
// if n' is 1. x [B, H, W, C] → [B, height, width, C] of its dtype, computed in f32.
Tensor resize_bilinear(const Tensor& x, int64_t height, int64_t width);

}  // namespace hearth::models::stable_cascade
