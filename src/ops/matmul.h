// Products with a weight.
#pragma once

#include "core/backend.h"

namespace hearth::ops {

// y = act(α · x Wᵀ + bias + per_image) + residual.
// x [..., K], w [N, K], bias [N] f32 or undefined → y [..., N] of dtype e.out (default: x's).
// e.residual has the shape of y; e.per_image is [B, N] where B is x's first axis. f32 accumulation.
// ShapeError unless w is a linear weight whose K fits x, and the epilogue's tensors fit y.
Tensor linear(const Tensor& x, const Weight& w, const Tensor& bias = {}, const Epilogue& e = {});

}  // namespace hearth::ops
