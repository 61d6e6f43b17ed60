// torch's PixelUnshuffle and PixelShuffle: the channels of p × p pixels, channel by channel.
#pragma once

#include "ops/shape_ops.h"

namespace hearth::models::stable_cascade {

// x [B, H, W, C] → [B, H/p, W/p, C·p²]
inline Tensor to_patches(const Tensor& x, int64_t p) {
  if (p == 1) return x;
  const auto [B, H, W, C] = x.dims<4>();
  const Tensor parts = ops::contiguous(x).view({B, H / p, p, W / p, p, C}).permute({0, 1, 3, 5, 2, 4});
  return ops::contiguous(parts).view({B, H / p, W / p, C * p * p});
}

// x [B, H, W, C·p²] → [B, p·H, p·W, C]
inline Tensor from_patches(const Tensor& x, int64_t p) {
  if (p == 1) return x;
  const auto [B, H, W, C] = x.dims<4>();
  const Tensor parts = x.view({B, H, W, C / (p * p), p, p}).permute({0, 1, 4, 2, 5, 3});
  return ops::contiguous(parts).view({B, H * p, W * p, C / (p * p)});
}

}  // namespace hearth::models::stable_cascade
