#include "api/image/vector_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <regex>

#include "backends/backends.h"
#include "core/error.h"
#include "core/files/file.h"
#include "weights/checkpoint_files.h"

namespace hearth::api {
namespace {

namespace fs = std::filesystem;

constexpr int64_t most_bytes = int64_t(1) << 24;

// [N], [1, N], [1, 1, N] → N
int64_t length_of(const std::vector<int64_t>& shape, const fs::path& file) {
  const bool is_vector =
      !shape.empty() && shape.back() > 0 && std::all_of(shape.begin(), shape.end() - 1, [](int64_t n) { return n == 1; });
  if (!is_vector) fail<WeightError>("{}: holds an array of shape [{}], expected one vector", file.string(), fmt::join(shape, ", "));
  return shape.back();
}

template <class T, class Read> std::vector<float> values_of(std::string_view bytes, int64_t n, Read read) {
  std::vector<float> values;
  for (int64_t i = 0; i < n; ++i) {
    T value;
    std::memcpy(&value, bytes.data() + size_t(i) * sizeof value, sizeof value);
    values.push_back(float(read(value)));
  }
  return values;
}

// NumPy's format: magic, version, length of the header, the header as a Python dictionary, the values.
std::vector<float> read_npy(const std::string& bytes, const fs::path& file) {
  const auto refuse = [&](std::string_view why) { fail<WeightError>("{}: {}, expected an array of NumPy", file.string(), why); };
  if (bytes.size() < 12) refuse("is too short");
  const size_t version = static_cast<unsigned char>(bytes[6]), begin = version == 1 ? 10 : 12;
  const auto byte = [&](size_t i) { return size_t(static_cast<unsigned char>(bytes[i])); };
  size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (version < 1 || version > 3 || length > bytes.size() - begin) refuse("has a damaged header");
  const std::string header = bytes.substr(begin, length);
  std::smatch type, sizes;
  if (!std::regex_search(header, type, std::regex("'descr': *'([^']*)'")) ||
      !std::regex_search(header, sizes, std::regex("'shape': *\\(([0-9, ]*)\\)")))
    refuse("has a damaged header");
  std::vector<int64_t> shape;
  const std::string listed = sizes[1];
  const std::regex digits("[0-9]{1,9}");
  for (auto at = std::sregex_iterator(listed.begin(), listed.end(), digits); at != std::sregex_iterator(); ++at)
    shape.push_back(std::stoll(at->str()));
  const int64_t n = length_of(shape, file);
  const std::string_view data = std::string_view(bytes).substr(begin + length);
  const std::string dtype = type[1];
  const size_t size = dtype == "<f2" ? 2 : dtype == "<f4" ? 4 : dtype == "<f8" ? 8 : 0;
  if (size == 0) fail<WeightError>("{}: holds values of the type '{}', expected <f2, <f4 or <f8", file.string(), dtype);
  if (data.size() != size * size_t(n)) refuse(fmt::format("has {} bytes for {} values", data.size(), n));
  if (size == 2) return values_of<uint16_t>(data, n, f16_to_f32);
  if (size == 4) return values_of<float>(data, n, [](float v) { return v; });
  return values_of<double>(data, n, [](double v) { return v; });
}

std::vector<float> read_tensor(const fs::path& file) {
  const auto source = open_tensor_file(file);
  const auto all = source->list();
  if (all.size() != 1) fail<WeightError>("{}: holds {} tensors, expected one", file.string(), all.size());
  const auto& [name, info] = *all.begin();
  if (!info.unreadable.empty()) fail<WeightError>("{}: '{}' {}", file.string(), name, info.unreadable);
  length_of({info.shape.begin(), info.shape.end()}, file);
  if (!is_float(info.dtype)) fail<WeightError>("{}: '{}' is {}, expected floating point", file.string(), name, name_of(info.dtype));
  const auto host = make_backend({.name = "reference", .threads = 1});
  return source->read(name, info.shape, *host).to_vector();
}

}  // namespace

std::vector<float> read_vector(const fs::path& file) {
  const std::string bytes = read_file(file, most_bytes);
  const std::vector<float> values = bytes.starts_with("\x93NUMPY") ? read_npy(bytes, file) : read_tensor(file);
  if (std::ranges::any_of(values, [](float v) { return !std::isfinite(v); }))
    fail<WeightError>("{}: has NaN or infinite values", file.string());
  return values;
}

}  // namespace hearth::api
