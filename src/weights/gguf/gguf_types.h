// The element types of GGUF tensors: supported ones, and those that are only recognized.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/dtype.h"

namespace hearth {

struct GgufTensorType {
  uint32_t id;            // in the file
  std::string_view name;  // "Q4_K"
  Block block;            // {0, 0} for a removed type, whose size is no longer defined
  std::optional<DType> dtype;
};

const GgufTensorType* gguf_tensor_type(uint32_t id);  // nullptr for an unknown id
const GgufTensorType* gguf_tensor_type(DType dtype);  // nullptr for a dtype that GGUF lacks (u8, f8_e4m3, …)

}  // namespace hearth
