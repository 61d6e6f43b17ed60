#include "weights/safetensors_types.h"

#include <array>

namespace hearth {
namespace {

constexpr std::array<std::string_view, 15> names{"F32", "F16", "BF16", "F64", "I8",   "U8",      "I16",    "U16",
                                                 "I32", "U32", "I64",  "U64", "BOOL", "F8_E4M3", "F8_E5M2"};  // in the order of DType

}  // namespace

std::optional<DType> safetensors_type(std::string_view name) {
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return DType(i);
  return std::nullopt;
}

std::string_view safetensors_name(DType dtype) { return names[size_t(dtype)]; }

}  // namespace hearth
