// Two-dimensional convolution, channels last.
#pragma once

#include "core/backend.h"

namespace hearth::ops {

// y = gate · act(α · conv(x, w) + bias + per_image) + residual, cross-correlation as in every framework.
// x [B, H, W, C], w [O, C, kh, kw], bias [O] f32 or undefined → y [B, H', W', O],
// H' = (H + top + bottom − kh) / stride + 1, counted after the optional nearest resize of x to spec.resize_to.
// `norm`, where given, is applied to x first (before resize and padding), without a tensor of its size where x is large.
// ShapeError unless C fits and H', W' ≥ 1, and norm.groups divides C.
Tensor conv2d(const Tensor& x, const Weight& w, const Tensor& bias, const ConvSpec& spec, const Epilogue& e = {},
              const InputNorm& norm = {});

}  // namespace hearth::ops
