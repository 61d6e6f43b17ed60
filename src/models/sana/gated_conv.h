// The gated convolution of SANA (GLUMBConv), a feed-forward part that mixes neighboring positions.
#pragma once

#include <optional>

#include "nn/layers.h"

namespace hearth::models::sana {

// RMS norm with a shift.   x [B, …, C] → the same shape
struct ShiftedRmsNorm {
  ShiftedRmsNorm(const Scope& w, int64_t channels);
  Tensor operator()(const Tensor& x) const;

  Tensor gamma, beta;  // [C]
};

// (a, b) = depthwise₃ₓ₃(silu(inverted(x))), y = point(a · silu(b)): with `hidden` channels between.   x [B, H, W, C] → the same shape
struct GatedConv {
  GatedConv(const Scope& w, int64_t channels, int64_t hidden);
  Tensor operator()(const Tensor& x, const Epilogue& e = {}) const;

  nn::Conv2d inverted, depthwise, point;  // conv_inverted 1×1, conv_depth 3×3, conv_point 1×1
  int64_t hidden;
};

}  // namespace hearth::models::sana
