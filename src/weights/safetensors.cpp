#include "weights/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "core/backend.h"

namespace hearth {

static_assert(std::endian::native == std::endian::little, "tensors are used as they lie in the file");

namespace {

constexpr uint64_t max_header_bytes = 100'000'000;  // the format's own limit

}  // namespace

// The whole file, read-only, until the last tensor that lies in it is gone.
class SafetensorsFile::Mapping {
 public:
  explicit Mapping(const std::filesystem::path& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) fail<IoError>("{}: cannot be opened: {}", path.string(), std::strerror(errno));
    struct stat status {};
    const bool known = ::fstat(file, &status) == 0;
    if (!known || !S_ISREG(status.st_mode)) {
      ::close(file);
      fail<IoError>("{}: is not a regular file", path.string());
    }
    size_ = size_t(status.st_size);
    if (size_ > 0) {
      void* address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
      if (address != MAP_FAILED) data_ = static_cast<std::byte*>(address);
    }
    const int reason = errno;
    ::close(file);
    if (size_ > 0 && !data_) fail<IoError>("{}: cannot be mapped: {}", path.string(), std::strerror(reason));
  }
  ~Mapping() {
    if (data_) ::munmap(data_, size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

std::shared_ptr<SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path) {
  auto file = std::make_shared<SafetensorsFile>();
  file->path_ = path;
  file->mapping_ = std::make_shared<const Mapping>(path);
  const std::string where = path.string();
  const uint64_t size = file->mapping_->size();
  if (size < 8) fail<IoError>("{}: {} bytes are too few for a safetensors file", where, size);
  uint64_t length = 0;
  std::memcpy(&length, file->mapping_->data(), 8);
  if (length > max_header_bytes)
    fail<IoError>("{}: header of {} bytes, at most {} are allowed (is it a safetensors file?)", where, length, max_header_bytes);
  if (length > size - 8) fail<IoError>("{}: header of {} bytes in a file of {}: the file is cut off", where, length, size);
  const std::string_view json(reinterpret_cast<const char*>(file->mapping_->data()) + 8, size_t(length));
  file->header_ = parse_safetensors_header(json, size - 8 - length, where);
  file->data_start_ = 8 + length;
  return file;
}

uint64_t SafetensorsFile::file_bytes() const { return mapping_->size(); }

std::map<std::string, TensorInfo> SafetensorsFile::list() const {
  std::map<std::string, TensorInfo> all;
  for (const auto& [name, entry] : header_.tensors) all.emplace_hint(all.end(), name, entry.info);
  return all;
}

Tensor SafetensorsFile::read(const std::string& name, const Shape&, Backend& backend) {
  const auto found = header_.tensors.find(name);
  if (found == header_.tensors.end()) fail<WeightError>("{}: has no tensor '{}'", describe(), name);
  const SafetensorsEntry& entry = found->second;
  if (!entry.info.unreadable.empty()) fail<UnsupportedError>("{}: '{}' {}", describe(), name, entry.info.unreadable);

  std::byte* data = mapping_->data() + data_start_ + entry.begin;
  if (reinterpret_cast<uintptr_t>(data) % size_of(entry.info.dtype) == 0) {
    auto storage = std::make_shared<const Storage>(Storage{data, size_t(entry.end - entry.begin), &backend, mapping_});
    return {storage, entry.info.shape, entry.info.dtype};
  }
  Tensor copy = Tensor::empty(backend, entry.info.shape, entry.info.dtype);
  if (backend.computes() && copy.bytes() > 0) std::memcpy(copy.raw(), data, copy.bytes());
  return copy;
}

void SafetensorsFile::release(const std::string& name) {
  const auto found = header_.tensors.find(name);
  if (found == header_.tensors.end()) return;
  const auto page = uintptr_t(::sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<uintptr_t>(mapping_->data()) + data_start_;
  const uintptr_t begin = (start + found->second.begin + page - 1) / page * page, end = (start + found->second.end) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace hearth
