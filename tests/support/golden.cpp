#include "support/golden.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "support/tolerance.h"
#include "weights/safetensors/safetensors.h"
#include "weights/seeded.h"

namespace hearth::test {

std::filesystem::path folder_of(const char* source_file) {
  // Compiler caches shorten __FILE__ to a path relative to the build folder, but keep the part after "src/" or "tests/".
  const std::filesystem::path file = source_file;
  if (file.is_absolute()) return file.parent_path();
  std::filesystem::path inside;
  for (const auto& part : file.parent_path())
    if (part != "..") inside /= part;
  return std::filesystem::path(HEARTH_SOURCE_DIR) / inside;
}

Golden::Golden(const char* source_file, const std::string& name, Backend& device) {
  const auto path = folder_of(source_file) / "golden" / (name + ".safetensors");
  const auto file = SafetensorsFile::open(path);
  metadata_ = file->header().metadata;
  for (const auto& [tensor, entry] : file->header().tensors) {
    const Tensor stored = file->read(tensor, entry.info.shape, device);
    Tensor own = Tensor::empty(device, stored.shape(), stored.dtype());
    if (own.bytes() > 0) device.upload(stored, own);
    tensors_.emplace(tensor, own);
  }
}

bool Golden::has(const std::string& name) const { return tensors_.contains(name); }

Tensor Golden::tensor(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) fail<WeightError>("golden: has no tensor '{}'", name);
  return found->second;
}

std::vector<float> Golden::values(const std::string& name) const { return tensor(name).to_vector(); }

std::vector<std::string> Golden::names() const {
  std::vector<std::string> all;
  for (const auto& [name, tensor] : tensors_) all.push_back(name);
  return all;
}

std::vector<float> test_values(const std::string& name, int64_t count) {
  std::vector<float> values = seeded_uniforms(name, count);
  for (float& v : values) v = 2 * v - 1;
  return values;
}

double relative_error(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double difference = 0, norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return std::numeric_limits<double>::infinity();
    difference += (double(a[i]) - b[i]) * (double(a[i]) - b[i]);
    norm += double(b[i]) * b[i];
  }
  return difference == 0 ? 0 : std::sqrt(difference / norm);
}

double max_difference(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, std::abs(double(a[i]) - b[i]));
  }
  return largest;
}

}  // namespace hearth::test
