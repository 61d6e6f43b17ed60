#include "weights/safetensors/safetensors_types.h"

#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/error.h"

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

std::string safetensors_head(std::span<const SafetensorsTensor> tensors, const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  size_t end = 0;
  for (const auto& [name, dtype, shape] : tensors) {
    if (name == "__metadata__") fail<UsageError>("write_safetensors: a tensor cannot be named '{}'", name);
    const size_t begin = end;
    end += size_t(shape.numel()) * size_of(dtype);
    header[name] = {
        {"dtype", safetensors_name(dtype)}, {"shape", std::vector<int64_t>(shape.begin(), shape.end())}, {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + text;
}

}  // namespace hearth
