// Convolution over one to three axes, channels last.
#pragma once

#include "core/backend.h"

namespace hearth::ops {

// y = gate · act(α · conv(x, w) + bias + per_image) + residual, as cross-correlation, like every framework.
// x [B, L, C], [B, H, W, C] or [B, F, H, W, C], bias [O] f32 or undefined → y of the same rank with O channels. Along an axis of n
// positions with a kernel of k taps, y has
//   WeightKind::conv [O, C / groups, k …]             (n + before + after − dilation·(k − 1) − 1) / stride + 1 positions,
//   WeightKind::conv_transposed [C, O / groups, k …]  (n − 1)·stride − before − after + dilation·(k − 1) + 1 positions,
// counted after the optional nearest resize of x to spec.resize_to. (torch's output_padding makes `after` smaller, perhaps negative.)
// `norm`, if given, is applied to x first (before resize and padding); the CPU backend does so without a tensor of x's size if x is large.
// A branch of the weight (WeightBranch) is added before the activation, as in ops::linear; transposed and grouped convolutions have none.
// ShapeError unless C matches w, y has at least one position, and norm.groups divides C. A transposed convolution supports neither a
// resize nor edges other than zeros.
Tensor conv(const Tensor& x, const Weight& w, const Tensor& bias, const ConvSpec& spec, const Epilogue& e = {},
            const GroupNormSpec& norm = {});

}  // namespace hearth::ops
