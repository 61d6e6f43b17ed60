#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "weights/safetensors.h"
#include "weights/safetensors_types.h"

namespace hearth {

void write_safetensors(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors, const Metadata& metadata) {
  std::vector<const std::pair<const std::string, Tensor>*> order;
  for (const auto& named : tensors) order.push_back(&named);
  std::ranges::stable_sort(order, std::greater(), [](const auto* named) { return size_of(named->second.dtype()); });

  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  size_t end = 0;
  for (const auto* named : order) {
    const auto& [name, x] = *named;
    if (name == "__metadata__") fail<UsageError>("write_safetensors: a tensor cannot be named '{}'", name);
    if (!x.contiguous()) fail<ShapeError>("write_safetensors: '{}' {} is strided, needed a contiguous tensor", name, x.shape());
    const size_t begin = end;
    end += x.bytes();
    header[name] = {{"dtype", safetensors_name(x.dtype())},
                    {"shape", std::vector<int64_t>(x.shape().begin(), x.shape().end())},
                    {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');

  std::string bytes;
  bytes.reserve(8 + text.size() + end);
  const uint64_t length = text.size();
  bytes.append(reinterpret_cast<const char*>(&length), 8).append(text);
  for (const auto* named : order) bytes.append(reinterpret_cast<const char*>(named->second.raw()), named->second.bytes());
  write_file(path, bytes);
}

}  // namespace hearth
