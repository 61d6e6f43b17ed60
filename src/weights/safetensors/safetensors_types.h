// The names of element types in safetensors files, and the header before the data.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/dtype.h"
#include "core/shape.h"

namespace hearth {

std::optional<DType> safetensors_type(std::string_view name);  // "BF16" → bf16
std::string_view safetensors_name(DType dtype);                // bf16 → "BF16"

struct SafetensorsTensor {
  std::string name;
  DType dtype;
  Shape shape;
};
// The header for tensors that are stored in this order without gaps: length and JSON, padded to a multiple of 8 bytes.
// UsageError for a tensor named "__metadata__".
std::string safetensors_head(std::span<const SafetensorsTensor> tensors, const std::map<std::string, std::string>& metadata = {});

}  // namespace hearth
