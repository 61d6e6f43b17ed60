#include "weights/safetensors/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/on_host.h"

namespace hearth {

static_assert(std::endian::native == std::endian::little, "tensors are used without byte swapping");

namespace {

constexpr uint64_t max_header_bytes = 100'000'000;  // the format's own limit

}  // namespace

std::shared_ptr<SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path) {
  auto mapping = std::make_shared<const MappedFile>(path);
  const uint64_t size = mapping->size();
  return inside(std::move(mapping), 0, size, path);
}

std::shared_ptr<SafetensorsFile> SafetensorsFile::inside(std::shared_ptr<const MappedFile> mapping, uint64_t begin, uint64_t end,
                                                         const std::filesystem::path& path) {
  auto file = std::make_shared<SafetensorsFile>();
  file->path_ = path;
  file->mapping_ = std::move(mapping);
  file->begin_ = begin, file->end_ = end;
  const std::string where = path.string();
  const uint64_t size = end - begin;
  if (size < 8) fail<IoError>("{}: {} bytes are too few for a safetensors file", where, size);
  uint64_t length = 0;
  const std::byte* const head = file->mapping_->data() + begin;
  std::memcpy(&length, head, 8);
  if (length > max_header_bytes)
    fail<IoError>("{}: header of {} bytes, at most {} are allowed (is it a safetensors file?)", where, length, max_header_bytes);
  if (length > size - 8) fail<IoError>("{}: header of {} bytes in a file of {}: the file is cut off", where, length, size);
  const std::string_view json(reinterpret_cast<const char*>(head) + 8, size_t(length));
  file->header_ = parse_safetensors_header(json, size - 8 - length, where);
  file->data_start_ = begin + 8 + length;
  return file;
}

std::map<std::string, TensorInfo> SafetensorsFile::list() const {
  std::map<std::string, TensorInfo> all;
  for (const auto& [name, entry] : header_.tensors) all.emplace_hint(all.end(), name, entry.info);
  return all;
}

Tensor SafetensorsFile::read(const std::string& name, const Shape&, Backend& backend) {
  const auto found = header_.tensors.find(name);
  if (found == header_.tensors.end()) fail<WeightError>("{}: has no tensor '{}'", describe(), name);
  const SafetensorsEntry& entry = found->second;
  require_unchanged();
  if (!entry.info.unreadable.empty()) fail<UnsupportedError>("{}: '{}' {}", describe(), name, entry.info.unreadable);

  std::byte* data = mapping_->data() + data_start_ + entry.begin;
  if (mapped(name)) {
    auto storage = std::make_shared<const Storage>(Storage{data, size_t(entry.end - entry.begin), &backend.host(), mapping_});
    return {storage, entry.info.shape, entry.info.dtype};
  }
  return written_on_host(backend, entry.info.shape, entry.info.dtype, [&](Tensor& copy) { std::memcpy(copy.raw(), data, copy.bytes()); });
}

std::span<const std::byte> SafetensorsFile::stored_bytes(const std::string& name) const {
  const auto found = header_.tensors.find(name);
  if (found == header_.tensors.end()) return {};
  return {mapping_->data() + data_start_ + found->second.begin, size_t(found->second.end - found->second.begin)};
}

bool SafetensorsFile::mapped(const std::string& name) const {
  const auto found = header_.tensors.find(name);
  if (found == header_.tensors.end()) return false;
  return reinterpret_cast<uintptr_t>(mapping_->data() + data_start_ + found->second.begin) % size_of(found->second.info.dtype) == 0;
}

void SafetensorsFile::require_unchanged() const {
  if (!mapping_->unchanged()) fail<IoError>("{}: was modified since it was opened; open the model again", describe());
}

void SafetensorsFile::release_all() { mapping_->release(begin_, end_); }

void SafetensorsFile::release(const std::string& name) {
  const auto found = header_.tensors.find(name);
  if (found == header_.tensors.end()) return;
  constexpr uint64_t around = 64 << 10;  // the system also maps the neighbors of an accessed page
  const uint64_t begin = data_start_ + found->second.begin, end = data_start_ + found->second.end;
  mapping_->release(begin - std::min(begin, around), std::min<uint64_t>(end + around, mapping_->size()));
}

}  // namespace hearth
