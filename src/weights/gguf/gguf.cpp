#include "weights/gguf/gguf.h"

#include <algorithm>
#include <cstring>
#include <fstream>

#include "core/on_host.h"

namespace hearth {
namespace {

// "name-00002-of-00005.gguf" → the text before the numbers.
std::string before_numbers(const std::filesystem::path& path, int64_t number, int64_t count) {
  const std::string name = path.filename().string(), ending = fmt::format("-{:05}-of-{:05}.gguf", number + 1, count);
  if (!name.ends_with(ending))
    fail<IoError>("{}: is shard {} of {}, but its name does not end in '{}', so the other shards cannot be found", path.string(),
                  number + 1, count, ending);
  return name.substr(0, name.size() - ending.size());
}

size_t alignment_in_memory(DType dtype) { return is_blocked(dtype) ? (dtype == DType::mxfp4 ? 1 : 2) : size_of(dtype); }

}  // namespace

GgufFile::Shard GgufFile::open_shard(const std::filesystem::path& path) {
  auto mapping = std::make_shared<const MappedFile>(path);
  const std::string_view bytes(reinterpret_cast<const char*>(mapping->data()), mapping->size());
  return {path, mapping, parse_gguf_header(bytes, path.string())};
}

std::vector<GgufFile::Shard> GgufFile::open_shards(const std::filesystem::path& path) {
  std::vector<Shard> shards;
  shards.push_back(open_shard(path));
  const int64_t count = shards.front().header.metadata.integer("split.count", 0);
  if (count <= 1) return shards;
  const int64_t given_number = shards.front().header.metadata.integer("split.no");
  if (given_number < 0 || given_number >= count)
    fail<IoError>("{}: split.no is {}, but split.count is {}", path.string(), given_number, count);

  const std::string name = before_numbers(path, given_number, count);
  shards.clear();
  size_t tensors = 0;
  for (int64_t i = 0; i < count; ++i) {
    shards.push_back(open_shard(path.parent_path() / fmt::format("{}-{:05}-of-{:05}.gguf", name, i + 1, count)));
    const GgufMetadata& keys = shards.back().header.metadata;
    if (keys.integer("split.no") != i || keys.integer("split.count") != count)
      fail<IoError>("{}: is shard {} of {} by its metadata, but {} of {} by its name", keys.where(), keys.integer("split.no") + 1,
                    keys.integer("split.count"), i + 1, count);
    tensors += shards.back().header.tensors.size();
  }
  const int64_t promised = shards.front().header.metadata.integer("split.tensors.count", int64_t(tensors));
  if (promised != int64_t(tensors))
    fail<IoError>("{}: all shards together have {} tensors, but split.tensors.count is {}", path.string(), tensors, promised);
  return shards;
}

std::shared_ptr<GgufFile> GgufFile::open(const std::filesystem::path& path) {
  auto file = std::make_shared<GgufFile>();
  file->path_ = path;
  file->shards_ = open_shards(path);
  for (const Shard& shard : file->shards_)
    for (const auto& [name, entry] : shard.header.tensors)
      if (!file->owners_.emplace(name, Owner{&shard, &entry, {}}).second)
        fail<IoError>("{}: tensor '{}' is also in another shard", shard.path.string(), name);
  return file;
}

std::vector<std::filesystem::path> GgufFile::paths() const {
  std::vector<std::filesystem::path> all;
  for (const Shard& shard : shards_) all.push_back(shard.path);
  return all;
}

uint64_t GgufFile::file_bytes() const {
  uint64_t bytes = 0;
  for (const Shard& shard : shards_) bytes += shard.mapping->size();
  return bytes;
}

bool GgufFile::is_one(const std::filesystem::path& path) {
  std::error_code error;
  char magic[4];
  return std::filesystem::is_regular_file(path, error) && std::ifstream(path, std::ios::binary).read(magic, 4) &&
         std::string_view(magic, 4) == "GGUF";
}

std::string_view GgufFile::bytes(size_t shard, const GgufEntry& entry) const {
  return {reinterpret_cast<const char*>(shards_.at(shard).mapping->data()) + entry.begin, size_t(entry.end - entry.begin)};
}

std::map<std::string, TensorInfo> GgufFile::list() const {
  std::map<std::string, TensorInfo> all;
  for (const auto& [name, owner] : owners_) all.emplace_hint(all.end(), name, owner.entry->info)->second.short_rank = true;
  return all;
}

Tensor GgufFile::read(const std::string& name, const Shape&, Backend& backend) {
  const auto found = owners_.find(name);
  if (found == owners_.end()) fail<WeightError>("{}: has no tensor '{}'", describe(), name);
  auto& [shard, entry, held] = found->second;
  require_unchanged();
  if (!entry->info.unreadable.empty()) fail<UnsupportedError>("{}: '{}' {}", describe(), name, entry->info.unreadable);

  std::byte* data = shard->mapping->data() + entry->begin;
  if (mapped(name)) {
    auto storage = std::make_shared<const Storage>(Storage{data, size_t(entry->end - entry->begin), &backend.host(), shard->mapping});
    const std::lock_guard lock(mutex_);
    held = storage;
    return {storage, entry->info.shape, entry->info.dtype};
  }
  return written_on_host(backend, entry->info.shape, entry->info.dtype, [&](Tensor& copy) { std::memcpy(copy.raw(), data, copy.bytes()); });
}

std::span<const std::byte> GgufFile::stored_bytes(const std::string& name) const {
  const auto found = owners_.find(name);
  if (found == owners_.end()) return {};
  const auto& [shard, entry, held] = found->second;
  return {shard->mapping->data() + entry->begin, size_t(entry->end - entry->begin)};
}

bool GgufFile::mapped(const std::string& name) const {
  const auto found = owners_.find(name);
  if (found == owners_.end()) return false;
  const auto& [shard, entry, held] = found->second;
  return reinterpret_cast<uintptr_t>(shard->mapping->data() + entry->begin) % alignment_in_memory(entry->info.dtype) == 0;
}

void GgufFile::require_unchanged() const {
  for (const Shard& shard : shards_)
    if (!shard.mapping->unchanged()) fail<IoError>("{}: was modified since it was opened; open the model again", shard.path.string());
}

void GgufFile::release(const Owner& owner) {
  constexpr uint64_t around = 64 << 10;  // the system also maps the neighbors of an accessed page
  const auto& [shard, entry, held] = owner;
  shard->mapping->release(entry->begin - std::min(entry->begin, around), std::min<uint64_t>(entry->end + around, shard->mapping->size()));
}

void GgufFile::release(const std::string& name) {
  if (const auto found = owners_.find(name); found != owners_.end()) release(found->second);
}

void GgufFile::release_all() {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, owner] : owners_)
    if (owner.held.expired()) release(owner);
}

std::string gguf_architecture(const TensorSource& source) {
  const auto* const file = dynamic_cast<const GgufFile*>(&source);
  return file ? file->architecture() : std::string();
}

}  // namespace hearth
