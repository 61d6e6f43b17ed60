// The element types of GGUF tensors: those that hearth reads, and those that it only knows by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/dtype.h"

namespace hearth {

struct GgufTensorType {
  uint32_t id;            // in the file
  std::string_view name;  // "Q4_K"
  Block block;            // {0, 0} for a type that has been retired: nobody says any more how large it is
  std::optional<DType> dtype;
};

const GgufTensorType* gguf_tensor_type(uint32_t id);  // nullptr for a number that stands for no type
const GgufTensorType* gguf_tensor_type(DType dtype);  // nullptr for a type that GGUF lacks (u8, f8_e4m3, …)

}  // namespace hearth
