// Moving and re-arranging elements; no arithmetic but rounding to another dtype.
#pragma once

#include <span>

#include "core/backend.h"

namespace hearth::ops {

Tensor contiguous(const Tensor& x);                   // x itself where it is dense already
Tensor cast(const Tensor& x, DType dtype);            // to nearest even; x itself where it has that dtype
Tensor concat(std::span<const Tensor> xs, int axis);  // equal shapes but for `axis` (negative counts from the end)
inline Tensor concat(std::initializer_list<Tensor> xs, int axis) { return concat(std::span<const Tensor>(xs.begin(), xs.size()), axis); }
Tensor to_channels_last(const Tensor& x);             // [B, C, H, W] → [B, H, W, C]
Tensor to_channels_first(const Tensor& x);            // [B, H, W, C] → [B, C, H, W]
Tensor repeat_batch(const Tensor& x, int64_t times);  // [B, ...] → [times·B, ...], the whole batch again and again
// Writes x into the memory of y, rounded to y's type: equal shapes; y f32, f16, bf16, or q8_0 and contiguous.
void store(const Tensor& x, Tensor y);
// Nearest neighbor as torch does it: row ⌊h·H/H'⌋ in f32. x [B, H, W, C] → [B, height, width, C].
Tensor resize_nearest(const Tensor& x, int64_t height, int64_t width);
}  // namespace hearth::ops
