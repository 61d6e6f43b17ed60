#include "weights/packed_cache.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/backend.h"
#include "core/error.h"
#include "core/files/file.h"
#include "core/files/sha256.h"
#include "core/threads.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view magic = "hearthP1";
constexpr size_t head_start = magic.size() + 16, alignment = 64;

size_t aligned(size_t n) { return (n + alignment - 1) / alignment * alignment; }

// A change of any one word changes the sum. Four independent chains reach the speed of memory.
uint64_t sum_of(const std::byte* bytes, size_t n) {
  constexpr uint64_t odd = 0x9e3779b97f4a7c15;
  uint64_t chains[4] = {n, 1, 2, 3};
  const auto take = [&](size_t i, uint64_t word) {
    chains[i] = (chains[i] ^ word) * odd;
    chains[i] ^= chains[i] >> 29;
  };
  uint64_t words[4];
  size_t at = 0;
  for (; at + sizeof words <= n; at += sizeof words) {
    std::memcpy(words, bytes + at, sizeof words);
    for (size_t i = 0; i < 4; ++i) take(i, words[i]);
  }
  std::memset(words, 0, sizeof words);
  if (at < n) std::memcpy(words, bytes + at, n - at);
  for (size_t i = 0; i < 4; ++i) take(i, words[i]);
  for (size_t i = 1; i < 4; ++i) take(0, chains[i]);
  return chains[0];
}

uint64_t sum_of(const std::byte* bytes, size_t n, ThreadPool& threads) {
  constexpr size_t piece = size_t(1) << 20;
  std::vector<uint64_t> sums((n + piece - 1) / piece);
  threads.run(int64_t(sums.size()), [&](int64_t i) {
    const size_t begin = size_t(i) * piece;
    sums[size_t(i)] = sum_of(bytes + begin, std::min(piece, n - begin));
  });
  return sum_of(reinterpret_cast<const std::byte*>(sums.data()), sums.size() * sizeof(uint64_t));
}

std::string hash_of(std::string_view text) {
  Sha256 hash;
  hash.add(text);
  return hash.hex();
}

constexpr std::pair<WeightKind, std::string_view> kinds[] = {
    {WeightKind::linear, "linear"}, {WeightKind::glu, "glu"}, {WeightKind::conv, "conv"}, {WeightKind::conv_transposed, "conv_transposed"}};

std::string_view name_of(WeightKind kind) {
  return std::find_if(std::begin(kinds), std::end(kinds), [&](const auto& k) { return k.first == kind; })->second;
}

WeightKind kind_of(const Json& json) {
  const auto name = json.get<std::string>();
  for (const auto& [kind, own] : kinds)
    if (name == own) return kind;
  fail<IoError>("it holds a weight of unknown kind '{}'", name);
}

DType type_of(const Json& name) {
  const auto type = dtype_named(name.get<std::string>());
  if (!type) fail<IoError>("the type '{}' is unknown", name.get<std::string>());
  return *type;
}

// Identifies the state of a file without reading it.
std::string state_of(const fs::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) fail<IoError>("{}: cannot be read: {}", file.string(), std::strerror(errno));
  return fmt::format("{}\n{} {} {} {}.{:09}\n", fs::absolute(file).lexically_normal().string(), status.st_dev, status.st_ino,
                     status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

}  // namespace

void require_cache_folder(const fs::path& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (!fs::is_directory(folder))
    fail<IoError>("weight cache: {} is not a folder and cannot be created{}", folder.string(), failed ? ": " + failed.message() : "");
  check_writable(folder / "packed-weights");
}

std::string remembered_hash(const fs::path& folder, std::span<const fs::path> files) {
  std::string states;
  for (const fs::path& file : files) states += state_of(file);
  const fs::path memo = folder / (hash_of(states) + ".sha256");
  if (std::error_code none; fs::file_size(memo, none) == 64 && !none) return read_file(memo, 64);
  const std::string hash = sha256_of_files(files);
  write_file(memo, hash);
  return hash;
}

PackedCache::PackedCache(const fs::path& folder, std::string key, std::function<void(const std::string&)> warn)
    : file_(folder / (hash_of(key) + ".packed")), key_(std::move(key)), warn_(std::move(warn)) {
  if (!fs::exists(file_)) return;
  try {
    read();
  } catch (const std::exception& e) {
    entries_.clear();
    warn_(fmt::format("weight cache: {} is ignored and will be rewritten: {}", file_.string(), e.what()));
  }
}

void PackedCache::read() {
  mapping_ = std::make_shared<const MappedFile>(file_);
  const size_t size = mapping_->size();
  if (size < head_start || std::memcmp(mapping_->data(), magic.data(), magic.size()) != 0)
    fail<IoError>("it is not a file of packed weights");
  uint64_t head_size, head_sum;
  std::memcpy(&head_size, mapping_->data() + magic.size(), sizeof head_size);
  std::memcpy(&head_sum, mapping_->data() + magic.size() + 8, sizeof head_sum);
  if (head_size > size - head_start) fail<IoError>("it is cut off");
  const std::byte* const head = mapping_->data() + head_start;
  if (sum_of(head, head_size) != head_sum) fail<IoError>("its header is damaged");

  const Json json = Json::parse(reinterpret_cast<const char*>(head), reinterpret_cast<const char*>(head) + head_size);
  if (json.at("key") != key_) fail<IoError>("it belongs to other weights");
  data_start_ = aligned(head_start + head_size);
  for (const auto& [name, w] : json.at("weights").items()) {
    const std::vector<int64_t> sizes = w.at("shape");
    const Entry entry{.shape = Shape(std::span<const int64_t>(sizes)),
                      .kind = kind_of(w.at("kind")),
                      .form = {.hold = type_of(w.at("hold")), .factors = type_of(w.at("factors"))},
                      .offset = w.at("offset"),
                      .bytes = w.at("bytes"),
                      .sum = w.at("sum")};
    if (data_start_ > size || entry.offset > size - data_start_ || entry.bytes > size - data_start_ - entry.offset)
      fail<IoError>("it is cut off");
    entries_.emplace(name, entry);
  }
}

std::optional<PackedCache::Weight> PackedCache::find(const std::string& name, const Shape& shape, WeightKind kind, ThreadPool& threads) {
  const auto found = entries_.find(name);
  if (found == entries_.end() || found->second.shape != shape || found->second.kind != kind) return std::nullopt;
  const Entry& e = found->second;
  const std::byte* const data = mapping_->data() + data_start_ + e.offset;
  if (sum_of(data, e.bytes, threads) != e.sum) {
    warn_(fmt::format("weight cache: {} is damaged at the weight '{}', which is packed again", file_.string(), name));
    return std::nullopt;
  }
  Weight weight{.shape = shape, .kind = kind, .form = e.form, .data = {mapping_, data}, .bytes = e.bytes};
  weights_.insert_or_assign(name, weight);
  return weight;
}

void PackedCache::finish(ThreadPool& threads) {
  if (!changed_) return;
  Json json = {{"key", key_}, {"weights", Json::object()}};
  size_t end = 0;
  for (const auto& [name, w] : weights_) {
    json["weights"][name] = {{"shape", std::vector<int64_t>(w.shape.begin(), w.shape.end())},
                             {"kind", name_of(w.kind)},
                             {"hold", hearth::name_of(w.form.hold)},
                             {"factors", hearth::name_of(w.form.factors)},
                             {"offset", end},
                             {"bytes", w.bytes},
                             {"sum", sum_of(w.data.get(), w.bytes, threads)}};
    end = aligned(end + w.bytes);
  }
  const std::string head = json.dump();
  const uint64_t head_size = head.size(), head_sum = sum_of(reinterpret_cast<const std::byte*>(head.data()), head.size());
  std::string start(magic);
  start.append(reinterpret_cast<const char*>(&head_size), sizeof head_size)
      .append(reinterpret_cast<const char*>(&head_sum), sizeof head_sum);
  start += head;
  start.resize(aligned(start.size()), ' ');

  const std::string zeros(alignment, '\0');
  std::vector<std::string_view> pieces{start};
  for (const auto& [name, w] : weights_) {
    pieces.emplace_back(reinterpret_cast<const char*>(w.data.get()), w.bytes);
    pieces.emplace_back(zeros.data(), aligned(w.bytes) - w.bytes);
  }
  try {
    write_file_unflushed(file_, pieces);
  } catch (const IoError& e) { warn_(fmt::format("weight cache: cannot be written: {}", e.what())); }
  changed_ = false;
}

void require_cache(const fs::path& folder, const Backend& backend) {
  if (folder.empty()) return;
  if (backend.packing().empty())
    fail<UnsupportedError>("weight cache: the backend '{}' does not pack weights, so nothing can be cached", backend.name());
  require_cache_folder(folder);
}

std::unique_ptr<PackedCache> open_cache(const fs::path& folder, std::span<const fs::path> files, const WeightTypes& types,
                                        const Backend& backend, std::function<void(const std::string&)> warn, const std::string& part) {
  if (folder.empty()) return nullptr;
  require_cache(folder, backend);
  std::string key = fmt::format("{}; {}; hold {}; factors {}", remembered_hash(folder, files), backend.packing(),
                                types.hold ? hearth::name_of(*types.hold) : "as stored", hearth::name_of(types.factors));
  if (!part.empty()) key += "; " + part;
  return std::make_unique<PackedCache>(folder, key, std::move(warn));
}

}  // namespace hearth
