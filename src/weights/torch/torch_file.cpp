#include "weights/torch/torch_file.h"

#include <algorithm>
#include <cstring>

#include "core/on_host.h"

namespace hearth {
namespace {

// Copies a strided tensor to `to` in row-major order, axis by axis, and advances `to`.
void gather(const std::byte* from, const TorchEntry& entry, int axis, size_t size, std::byte*& to) {
  if (axis == entry.info.shape.rank()) {
    std::memcpy(to, from, size);
    to += size;
    return;
  }
  for (int64_t i = 0; i < entry.info.shape[axis]; ++i)
    gather(from + i * entry.strides[size_t(axis)] * int64_t(size), entry, axis + 1, size, to);
}

}  // namespace

std::shared_ptr<TorchFile> TorchFile::open(const std::filesystem::path& path) {
  auto file = std::make_shared<TorchFile>();
  file->path_ = path;
  file->mapping_ = std::make_shared<const MappedFile>(path);
  const std::string_view bytes(reinterpret_cast<const char*>(file->mapping_->data()), file->mapping_->size());
  file->contents_ = parse_torch_file(bytes, path.string());
  return file;
}

std::map<std::string, TensorInfo> TorchFile::list() const {
  std::map<std::string, TensorInfo> all;
  for (const auto& [name, entry] : contents_.tensors) all.emplace_hint(all.end(), name, entry.info);
  return all;
}

Tensor TorchFile::read(const std::string& name, const Shape&, Backend& backend) {
  const auto found = contents_.tensors.find(name);
  if (found == contents_.tensors.end()) fail<WeightError>("{}: has no tensor '{}'", describe(), name);
  const TorchEntry& entry = found->second;
  require_unchanged();
  if (!entry.info.unreadable.empty()) fail<UnsupportedError>("{}: '{}' {}", describe(), name, entry.info.unreadable);

  std::byte* data = mapping_->data() + entry.begin;
  if (mapped(entry)) {
    auto storage = std::make_shared<const Storage>(Storage{data, size_t(entry.end - entry.begin), &backend.host(), mapping_});
    return {storage, entry.info.shape, entry.info.dtype};
  }
  return written_on_host(backend, entry.info.shape, entry.info.dtype, [&](Tensor& copy) {
    std::byte* to = copy.raw();
    if (entry.contiguous) std::memcpy(to, data, copy.bytes());
    else gather(data, entry, 0, size_of(entry.info.dtype), to);
  });
}

std::span<const std::byte> TorchFile::stored_bytes(const std::string& name) const {
  const auto found = contents_.tensors.find(name);
  if (found == contents_.tensors.end() || !found->second.contiguous || !found->second.info.unreadable.empty()) return {};
  return {mapping_->data() + found->second.begin, size_t(found->second.end - found->second.begin)};
}

bool TorchFile::mapped(const TorchEntry& entry) const {
  return entry.contiguous && reinterpret_cast<uintptr_t>(mapping_->data() + entry.begin) % size_of(entry.info.dtype) == 0;
}

bool TorchFile::mapped(const std::string& name) const {
  const auto found = contents_.tensors.find(name);
  return found != contents_.tensors.end() && mapped(found->second);
}

void TorchFile::require_unchanged() const {
  if (!mapping_->unchanged()) fail<IoError>("{}: was modified since it was opened; open the model again", describe());
}

void TorchFile::release(const std::string& name) {
  const auto found = contents_.tensors.find(name);
  if (found == contents_.tensors.end()) return;
  constexpr uint64_t around = 64 << 10;  // the system also maps the neighbors of an accessed page
  const auto& [begin, end] = std::pair(found->second.begin, found->second.end);
  mapping_->release(begin - std::min(begin, around), std::min<uint64_t>(end + around, mapping_->size()));
}

}  // namespace hearth
