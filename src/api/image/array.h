// Between the public arrays, [B, C, H, W], and tensors, [B, H, W, C].
#pragma once

#include "core/backend.h"
#include "hearth/hearth.h"

namespace hearth::api {

Array to_array(const Tensor& x);  // [B, H, W, C] → [B, C, H, W]

// As it is. UsageError, beginning with `what`, unless it has four axes, as many values as its shape says and finite ones only.
Tensor to_tensor(const Array& array, Backend& device, const char* what);

}  // namespace hearth::api
