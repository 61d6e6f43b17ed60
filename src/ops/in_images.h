// The form in which backends receive rows.
#pragma once

#include "core/tensor.h"

namespace hearth::ops {

// Not empty, contiguous x [B, ..., C], or [C] → [B, rows per image, C], the same memory.
inline Tensor in_images(const Tensor& x) {
  const int64_t B = x.rank() > 1 ? x.size(0) : 1, C = x.size(-1);
  return x.view({B, x.numel() / (B * C), C});
}

}  // namespace hearth::ops
