#include "weights/gguf/imatrix.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "core/error.h"
#include "core/files/file.h"
#include "weights/gguf/gguf.h"
#include "weights/gguf/gguf_writer.h"
#include "weights/stored_numbers.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view sums_ending = ".in_sum2", counts_ending = ".counts";

void check_entry(const std::string& name, const ImatrixEntry& entry, const std::string& where) {
  if (entry.counts.empty() || entry.sums.empty() || entry.sums.size() % entry.counts.size() != 0)
    fail<WeightError>("{}: '{}' has {} sums for {} matrices", where, name, entry.sums.size(), entry.counts.size());
  for (const auto* values : {&entry.sums, &entry.counts})
    if (const auto bad = std::ranges::count_if(*values, [](double v) { return !std::isfinite(v) || v < 0; }))
      fail<WeightError>("{}: '{}' has {} negative, NaN or infinite values", where, name, bad);
}

std::vector<double> doubles(const std::span<const std::byte> bytes) {
  std::vector<double> values(bytes.size() / sizeof(float));
  for (size_t i = 0; i < values.size(); ++i) {
    float v;
    std::memcpy(&v, bytes.data() + i * sizeof v, sizeof v);
    values[i] = double(v);
  }
  return values;
}

Imatrix read_gguf(const fs::path& path) {
  const auto file = GgufFile::open(path);
  const GgufMetadata& metadata = file->metadata();
  if (const std::string type = metadata.text("general.type", ""); type != "imatrix")
    fail<IoError>("{}: 'general.type' = \"{}\", expected \"imatrix\"", path.string(), type);
  Imatrix matrix;
  if (metadata.has("imatrix.datasets"))
    for (const std::string_view name : metadata.texts("imatrix.datasets")) matrix.datasets.emplace_back(name);
  matrix.chunks = metadata.integer("imatrix.chunk_count", 0);
  matrix.chunk_size = metadata.integer("imatrix.chunk_size", 0);
  const std::map<std::string, TensorInfo> listed = file->list();
  for (const auto& [name, info] : listed) {
    if (!name.ends_with(sums_ending)) continue;
    const std::string tensor = name.substr(0, name.size() - sums_ending.size()), counts = tensor + std::string(counts_ending);
    const auto found = listed.find(counts);
    if (found == listed.end()) fail<WeightError>("{}: '{}' is missing, but '{}' exists", path.string(), counts, name);
    if (info.dtype != DType::f32 || found->second.dtype != DType::f32)
      fail<WeightError>("{}: '{}' or its counts are not f32", path.string(), name);
    ImatrixEntry entry{.sums = doubles(file->stored_bytes(name)), .counts = doubles(file->stored_bytes(counts))};
    check_entry(tensor, entry, path.string());
    matrix.entries[tensor] = std::move(entry);
  }
  return matrix;
}

// Reads the older format from front to back.
class DatReader {
 public:
  DatReader(std::string bytes, std::string where) : bytes_(std::move(bytes)), where_(std::move(where)) {}

  bool at_end() const { return at_ == bytes_.size(); }
  const std::string& where() const { return where_; }
  int64_t number() {
    int32_t n;
    std::memcpy(&n, take(sizeof n).data(), sizeof n);
    return n;
  }
  int64_t count(const char* what) {
    const int64_t n = number();
    if (n < 0 || n > int64_t(bytes_.size()))
      fail<IoError>("{}: {} {}, expected 0 to {}; is it an importance matrix?", where_, what, n, bytes_.size());
    return n;
  }
  std::string text() { return std::string(take(size_t(count("a text's length is")))); }
  std::string_view take(size_t size) {
    if (size > bytes_.size() - at_) fail<IoError>("{}: ends after {} bytes, within an entry", where_, bytes_.size());
    at_ += size;
    return std::string_view(bytes_).substr(at_ - size, size);
  }

 private:
  std::string bytes_, where_;
  size_t at_ = 0;
};

Imatrix read_dat(const fs::path& path, int64_t chunk_size) {
  DatReader in(read_file(path), path.string());
  Imatrix matrix{.entries = {}, .datasets = {}, .chunks = 0, .chunk_size = chunk_size};
  const int64_t entries = in.count("the number of entries is");
  if (entries == 0) fail<IoError>("{}: has no entries; is it an importance matrix?", in.where());
  for (int64_t i = 0; i < entries; ++i) {
    const std::string name = in.text();
    const int64_t calls = in.number(), values = in.count("a number of values is");
    const std::string_view bytes = in.take(size_t(values) * sizeof(float));
    if (calls < 1) fail<IoError>("{}: '{}' has {} calls, expected 1 or more", in.where(), name, calls);
    ImatrixEntry entry{.sums = doubles({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}),
                       .counts = {double(calls) * double(chunk_size)}};
    for (double& v : entry.sums) v *= double(chunk_size);
    check_entry(name, entry, in.where());
    if (!matrix.entries.emplace(name, std::move(entry)).second) fail<WeightError>("{}: '{}' exists twice", in.where(), name);
  }
  if (!in.at_end()) matrix.chunks = in.number();
  if (!in.at_end()) matrix.datasets = {in.text()};
  return matrix;
}

void write_dat(const fs::path& path, const Imatrix& matrix) {
  std::string bytes;
  const auto number = [&](int64_t n) {
    const auto narrow = int32_t(n);
    bytes.append(reinterpret_cast<const char*>(&narrow), sizeof narrow);
  };
  const auto text = [&](const std::string& t) {
    number(std::ssize(t));
    bytes += t;
  };
  number(std::ssize(matrix.entries));
  for (const auto& [name, entry] : matrix.entries) {
    const double chunk = double(std::max<int64_t>(1, matrix.chunk_size));
    const auto calls = int64_t(std::max(1.0, std::ceil(*std::ranges::max_element(entry.counts) / chunk)));
    text(name);
    number(calls);
    number(std::ssize(entry.sums));
    for (size_t i = 0; i < entry.sums.size(); ++i) {
      const double count = entry.counts[i / size_t(entry.columns())];
      const auto value = float(count > 0 ? entry.sums[i] / count * double(calls) : double(calls));  // llama.cpp: mean 1 without data
      bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
  }
  number(matrix.chunks);
  text(matrix.datasets.empty() ? "" : matrix.datasets.back());
  write_file(path, bytes);
}

void write_as_gguf(const fs::path& path, const Imatrix& matrix) {
  GgufValues values;
  values.text("general.type", "imatrix");
  values.texts("imatrix.datasets", matrix.datasets);
  values.integer("imatrix.chunk_count", matrix.chunks);
  values.integer("imatrix.chunk_size", matrix.chunk_size);
  std::vector<GgufTensor> tensors;
  std::vector<const std::vector<double>*> data;
  for (const auto& [name, entry] : matrix.entries) {
    const int64_t matrices = std::ssize(entry.counts);
    tensors.push_back({name + std::string(sums_ending), DType::f32, {matrices, entry.columns()}});
    tensors.push_back({name + std::string(counts_ending), DType::f32, {matrices, 1}});
    data.push_back(&entry.sums);
    data.push_back(&entry.counts);
  }
  write_gguf(path, values, tensors, [&](size_t index, const WriteBytes& write) {
    const std::vector<float> narrow(data[index]->begin(), data[index]->end());
    write(std::as_bytes(std::span(narrow)));
  });
}

}  // namespace

Imatrix read_imatrix(const fs::path& path, int64_t chunk_size) {
  return GgufFile::is_one(path) ? read_gguf(path) : read_dat(path, chunk_size);
}

void write_imatrix(const fs::path& path, const Imatrix& matrix, ImatrixFormat format) {
  format == ImatrixFormat::gguf ? write_as_gguf(path, matrix) : write_dat(path, matrix);
}

void add_imatrix(Imatrix& to, const Imatrix& other, const std::string& where) {
  for (const auto& [name, entry] : other.entries) {
    const auto [found, added] = to.entries.emplace(name, entry);
    if (added) continue;
    ImatrixEntry& sum = found->second;
    if (sum.sums.size() != entry.sums.size())
      fail<WeightError>("{}: '{}' has {} sums, expected {}", where, name, entry.sums.size(), sum.sums.size());
    for (size_t i = 0; i < sum.sums.size(); ++i) sum.sums[i] += entry.sums[i];
    // A file of the older format has one count for all matrices.
    if (sum.counts.size() == 1) sum.counts.resize(entry.counts.size(), sum.counts[0]);
    for (size_t i = 0; i < sum.counts.size(); ++i) sum.counts[i] += entry.counts[entry.counts.size() == 1 ? 0 : i];
  }
  for (const std::string& name : other.datasets)
    if (std::ranges::find(to.datasets, name) == to.datasets.end()) to.datasets.push_back(name);
  to.chunks += other.chunks;
  to.chunk_size = std::max(to.chunk_size, other.chunk_size);
}

std::vector<float> importance_of(const ImatrixEntry& entry, int64_t matrix, int64_t columns) {
  if (entry.counts[entry.counts.size() == 1 ? 0 : size_t(matrix)] == 0) return {};
  const size_t first = std::ssize(entry.sums) == columns ? 0 : size_t(matrix * columns);
  const std::span<const double> own = std::span(entry.sums).subspan(first, size_t(columns));
  double mean = 0;
  for (const double v : own) mean += v / double(columns);
  if (mean == 0) return {};
  std::vector<float> importance;
  for (const double v : own) importance.push_back(std::max(1e-5f, float(v / mean)));
  return importance;
}

}  // namespace hearth
