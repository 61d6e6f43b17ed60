#include <algorithm>
#include <functional>

#include "core/files/file.h"
#include "core/on_host.h"
#include "weights/safetensors/safetensors.h"
#include "weights/safetensors/safetensors_types.h"

namespace hearth {

void write_safetensors(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors, const Metadata& metadata) {
  std::vector<const std::pair<const std::string, Tensor>*> order;
  for (const auto& named : tensors) {
    if (is_blocked(named.second.dtype()))
      fail<UnsupportedError>("write_safetensors: '{}' has the dtype {}, which safetensors does not support", named.first,
                             name_of(named.second.dtype()));
    order.push_back(&named);
  }
  std::ranges::stable_sort(order, std::greater(), [](const auto* named) { return size_of(named->second.dtype()); });

  std::vector<SafetensorsTensor> listed;
  for (const auto* named : order) {
    const auto& [name, x] = *named;
    if (!x.contiguous()) fail<ShapeError>("write_safetensors: '{}' {} is strided, expected a contiguous tensor", name, x.shape());
    listed.push_back({name, x.dtype(), x.shape()});
  }
  std::string bytes = safetensors_head(listed, metadata);
  for (const auto* named : order) {
    const Tensor x = dense_on_host(named->second);
    bytes.append(reinterpret_cast<const char*>(x.raw()), x.bytes());
  }
  write_file(path, bytes);
}

}  // namespace hearth
