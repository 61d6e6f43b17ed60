#include "weights/stored_numbers.h"

#include <cstring>

namespace hearth {

std::vector<double> stored_numbers(const TensorSource& source, const std::string& name) {
  const auto all = source.list();
  const auto found = all.find(name);
  if (found == all.end() || !is_float(found->second.dtype)) return {};
  const DType dtype = found->second.dtype;
  const std::span<const std::byte> bytes = source.stored_bytes(name);
  std::vector<double> values(size_t(found->second.shape.numel()));
  if (bytes.size() != bytes_of(dtype, int64_t(values.size()))) return {};
  for (size_t i = 0; i < values.size(); ++i) {
    const std::byte* at = bytes.data() + i * size_of(dtype);
    const auto read = [at]<class T>(T value) { return std::memcpy(&value, at, sizeof value), value; };
    if (dtype == DType::f64) values[i] = read(0.0);
    else if (dtype == DType::f32) values[i] = double(read(0.0f));
    else values[i] = double(dtype == DType::f16 ? f16_to_f32(read(uint16_t())) : bf16_to_f32(read(uint16_t())));
  }
  return values;
}

}  // namespace hearth
