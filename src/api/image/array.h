// Converts between public arrays, [B, C, H, W], and tensors, [B, H, W, C].
#pragma once

#include "core/backend.h"
#include "hearth/hearth.h"

namespace hearth::api {

Array to_array(const Tensor& x);  // [B, H, W, C] → [B, C, H, W]

// Same axes as `array`. UsageError, starting with `what`, unless it has four axes and as many values as its shape; NonFiniteError.
Tensor to_tensor(const Array& array, Backend& device, const char* what);

}  // namespace hearth::api
