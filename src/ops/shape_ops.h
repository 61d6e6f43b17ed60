// Copying and rearranging elements; the only arithmetic is rounding to another dtype.
#pragma once

#include <span>

#include "core/backend.h"

namespace hearth::ops {

Tensor contiguous(const Tensor& x);                   // x itself if it is already dense
Tensor cast(const Tensor& x, DType dtype);            // to nearest even; x itself if it has that dtype
Tensor concat(std::span<const Tensor> xs, int axis);  // equal shapes except along `axis` (negative: from the end)
inline Tensor concat(std::initializer_list<Tensor> xs, int axis) { return concat(std::span<const Tensor>(xs.begin(), xs.size()), axis); }
Tensor to_channels_last(const Tensor& x);             // [B, C, H, W] → [B, H, W, C]
Tensor to_channels_first(const Tensor& x);            // [B, H, W, C] → [B, C, H, W]
Tensor repeat_batch(const Tensor& x, int64_t times);  // [B, ...] → [times·B, ...], the whole batch repeated
// Writes x into the memory of y, rounded to y's dtype: equal shapes; y is f32, f16, bf16, or q8_0 and contiguous.
void store(const Tensor& x, Tensor y);
// Nearest neighbor as in torch: row ⌊h·H/H'⌋ in f32. x [B, H, W, C] → [B, height, width, C].
Tensor resize_nearest(const Tensor& x, int64_t height, int64_t width);
}  // namespace hearth::ops
