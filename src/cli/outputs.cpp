#include "cli/outputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "backends/backends.h"
#include "core/backend.h"
#include "core/error.h"
#include "weights/safetensors/safetensors.h"

namespace hearth::cli {

namespace fs = std::filesystem;

std::vector<fs::path> output_names(const fs::path& output, int64_t count) {
  if (count == 1) return {output};
  const size_t digits = std::to_string(count).size();
  std::vector<fs::path> names;
  for (int64_t i = 1; i <= count; ++i)
    names.push_back(output.parent_path() / fmt::format("{}-{:0{}}{}", output.stem().string(), i, digits, output.extension().string()));
  return names;
}

Array load_array(const fs::path& file, const std::string& name) {
  const auto opened = SafetensorsFile::open(file);
  if (!opened->has(name)) {
    std::vector<std::string> names;
    for (const auto& [found, info] : opened->list()) names.push_back(found);
    fail<WeightError>("{}: has no tensor '{}', only {}", file.string(), name,
                      names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", ")));
  }
  const auto device = make_backend({.name = "reference", .threads = 1});
  const Tensor x = opened->read(name, opened->list().at(name).shape, *device);
  if (const int64_t bad = count_non_finite(x); bad > 0)
    fail<NonFiniteError>("{}: {} of {} values of '{}' are not finite", file.string(), bad, x.numel(), name);
  return {.shape = {x.shape().begin(), x.shape().end()}, .values = x.to_vector()};
}

RunState load_state(const fs::path& file) {
  const auto opened = SafetensorsFile::open(file);
  const auto found = opened->header().metadata.find("hearth_state");
  if (found == opened->header().metadata.end())
    fail<WeightError>("{}: contains no stopped run, expected a file that --stop-after saved", file.string());
  RunState state{.json = found->second};
  for (const auto& [name, info] : opened->list())
    if (name.starts_with("state.")) state.arrays.emplace(name, load_array(file, name));
  return state;
}

void save_arrays(const fs::path& file, const std::map<std::string, Array>& arrays, const std::map<std::string, std::string>& metadata) {
  const auto device = make_backend({.name = "reference", .threads = 1});
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, array] : arrays)
    tensors.emplace(name, Tensor::from(*device, Shape(std::span<const int64_t>(array.shape)), array.values));
  write_safetensors(file, tensors, metadata);
}

Array slice(const Array& array, int64_t begin, int64_t end) {
  if (array.shape.empty() || begin < 0 || begin > end || end > array.shape[0]) {
    const int64_t size = array.shape.empty() ? 0 : array.shape[0];
    fail<ShapeError>("slice: {} to {} is outside of 0 to {}", begin, end, size);
  }
  const auto row = array.shape[0] == 0 ? 0 : int64_t(array.values.size()) / array.shape[0];
  Array out{.shape = array.shape, .values = {array.values.begin() + begin * row, array.values.begin() + end * row}};
  out.shape[0] = end - begin;
  return out;
}

void append(Array& to, const Array& more) {
  if (to.shape.empty()) {
    to = more;
    return;
  }
  if (to.shape.size() != more.shape.size() || !std::equal(to.shape.begin() + 1, to.shape.end(), more.shape.begin() + 1))
    fail<ShapeError>("append: shape [{}] does not match [{}]", fmt::join(more.shape, ", "), fmt::join(to.shape, ", "));
  to.shape[0] += more.shape[0];
  to.values.insert(to.values.end(), more.values.begin(), more.values.end());
}

}  // namespace hearth::cli
