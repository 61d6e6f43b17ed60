// How safetensors spells element types.
#pragma once

#include <optional>
#include <string_view>

#include "core/dtype.h"

namespace hearth {

std::optional<DType> safetensors_type(std::string_view name);  // "BF16" → bf16
std::string_view safetensors_name(DType dtype);                // bf16 → "BF16"

}  // namespace hearth
