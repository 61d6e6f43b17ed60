#include "weights/packed_cache.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/backend.h"
#include "core/error.h"
#include "core/files/sha256.h"
#include "core/observe.h"
#include "core/threads.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view magic = "hearthP2";
constexpr size_t tail_size = 24, alignment = 64;

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
  if (size < magic.size() + tail_size || std::memcmp(mapping_->data(), magic.data(), magic.size()) != 0)
    fail<IoError>("it is not a file of packed weights");
  uint64_t tail[3];
  static_assert(sizeof tail == tail_size);
  std::memcpy(tail, mapping_->data() + size - tail_size, tail_size);
  const auto [begin, length, sum] = tail;
  if (begin > size - tail_size || length != size - tail_size - begin) fail<IoError>("it is cut off");
  const std::byte* const head = mapping_->data() + begin;
  if (sum_of(head, length) != sum) fail<IoError>("its list of weights is damaged");

  const Json json = Json::parse(reinterpret_cast<const char*>(head), reinterpret_cast<const char*>(head) + length);
  if (json.at("key") != key_) fail<IoError>("it belongs to other weights");
  for (const auto& [name, w] : json.at("weights").items()) {
    const std::vector<int64_t> sizes = w.at("shape");
    const Entry entry{.shape = Shape(std::span<const int64_t>(sizes)),
                      .kind = kind_of(w.at("kind")),
                      .form = {.hold = type_of(w.at("hold")), .factors = type_of(w.at("factors"))},
                      .offset = w.at("offset"),
                      .bytes = w.at("bytes"),
                      .sum = w.at("sum")};
    if (entry.offset > begin || entry.bytes > begin - entry.offset) fail<IoError>("it is cut off");
    entries_.emplace(name, entry);
  }
}

std::optional<PackedCache::Weight> PackedCache::find(const std::string& name, const Shape& shape, WeightKind kind, ThreadPool& threads) {
  const auto found = entries_.find(name);
  if (found == entries_.end() || found->second.shape != shape || found->second.kind != kind) return std::nullopt;
  const Entry& e = found->second;
  const std::byte* const data = mapping_->data() + e.offset;
  if (found_.contains(name)) {
    MappedFile::fetch(data, e.bytes);
  } else if (sum_of(data, e.bytes, threads) != e.sum) {
    warn_(fmt::format("weight cache: {} is damaged at the weight '{}', which is packed again", file_.string(), name));
    entries_.erase(found);
    return std::nullopt;
  }
  found_.insert(name);
  struct InUse {
    ~InUse() { mapping->release(begin, end); }
    std::shared_ptr<const MappedFile> mapping;
    size_t begin, end;
  };
  auto use = std::make_shared<const InUse>(mapping_, e.offset, aligned(e.offset + e.bytes));
  return Weight{.shape = shape, .kind = kind, .form = e.form, .data = {std::move(use), data}, .bytes = e.bytes};
}

void PackedCache::give_up(const std::exception& e) {
  writer_ = nullptr;
  closed_ = true;
  warn_(fmt::format("weight cache: cannot be written: {}", e.what()));
}

void PackedCache::write(const std::string& name, Entry entry, const std::byte* data) {
  check_canceled();
  static constexpr char zeros[alignment] = {};
  const uint64_t begin = aligned(end_);
  writer_->write({zeros, size_t(begin - end_)});
  writer_->write({reinterpret_cast<const char*>(data), entry.bytes});
  end_ = begin + entry.bytes;
  entry.offset = begin;
  written_.emplace(name, entry);
}

void PackedCache::add(const std::string& name, const Weight& w, ThreadPool& threads) {
  if (closed_ || written_.contains(name)) return;
  try {
    if (!writer_) {
      writer_ = std::make_unique<FileWriter>(file_);
      writer_->write(magic);
      end_ = magic.size();
    }
    write(name, {.shape = w.shape, .kind = w.kind, .form = w.form, .bytes = w.bytes, .sum = sum_of(w.data.get(), w.bytes, threads)},
          w.data.get());
  } catch (const IoError& e) { give_up(e); }
}

void PackedCache::finish() {
  if (!writer_) return;
  try {
    for (const std::string& name : found_)
      if (!written_.contains(name)) write(name, entries_.at(name), mapping_->data() + entries_.at(name).offset);
    Json json = {{"key", key_}, {"weights", Json::object()}};
    for (const auto& [name, e] : written_)
      json["weights"][name] = {{"shape", std::vector<int64_t>(e.shape.begin(), e.shape.end())},
                               {"kind", name_of(e.kind)},
                               {"hold", hearth::name_of(e.form.hold)},
                               {"factors", hearth::name_of(e.form.factors)},
                               {"offset", e.offset},
                               {"bytes", e.bytes},
                               {"sum", e.sum}};
    const std::string head = json.dump();
    const uint64_t tail[3] = {end_, head.size(), sum_of(reinterpret_cast<const std::byte*>(head.data()), head.size())};
    writer_->write(head);
    writer_->write({reinterpret_cast<const char*>(tail), sizeof tail});
    writer_->commit_unflushed();
    writer_ = nullptr;
    closed_ = true;
  } catch (const IoError& e) { give_up(e); }
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
