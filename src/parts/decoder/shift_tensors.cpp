#include "parts/decoder/shift_tensors.h"

#include "weights/aliases.h"

namespace hearth::parts {

std::map<std::string, DerivedTensor> shift_tensors(const std::map<std::string, TensorInfo>& stored, const ShiftNames& names) {
  std::map<std::string, DerivedTensor> tensors;
  const int64_t parts = std::ssize(names.letters);
  for (const auto& [name, info] : stored) {
    const int64_t count = info.shape.numel();
    const auto view = [&, &name = name, &info = info](std::string_view pattern, const Shape& shape) {
      if (rewrite(name, pattern, pattern) && info.shape != shape) tensors[name] = derive_view(name, info.dtype, shape);
    };
    for (const std::string_view vector : names.vectors) view(vector, {count});
    if (count % parts == 0) view(names.joined, {parts, 1, 1, count / parts});
    const auto joined = rewrite(name, names.first, names.joined);
    if (!joined) continue;
    std::vector<std::string> all;
    for (const char letter : names.letters) {
      const std::string from = name.substr(0, name.size() - 1) + letter;
      if (stored.contains(from) && stored.at(from).shape.numel() == count) all.push_back(from);
    }
    // Missing ones are reported as a missing vector of all.
    if (std::ssize(all) == parts) tensors[*joined] = derive_joined(std::move(all), {parts, 1, 1, count});
  }
  return tensors;
}

}  // namespace hearth::parts
