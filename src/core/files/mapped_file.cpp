#include "core/files/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace hearth {
namespace {

constexpr size_t large = size_t(64) << 20;

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (file_ < 0) fail<IoError>("{}: cannot be opened: {}", path.string(), std::strerror(errno));
  const bool known = ::fstat(file_, &status_) == 0;
  if (!known || !S_ISREG(status_.st_mode)) {
    ::close(file_);
    fail<IoError>("{}: is not a regular file", path.string());
  }
  size_ = size_t(status_.st_size);
  if (size_ == 0) return;
  void* address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file_, 0);
  if (address == MAP_FAILED) {
    const int reason = errno;
    ::close(file_);
    fail<IoError>("{}: cannot be mapped: {}", path.string(), std::strerror(reason));
  }
  data_ = static_cast<std::byte*>(address);
  // The system then reads missing pages in pieces of 2 MiB if the file system supports them. Products with weights in place read these a
  // fifth faster than scattered 4 KiB pages (docs/performance.md).
  if (size_ >= large) ::madvise(address, size_, MADV_HUGEPAGE);
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(data_, size_);
  ::close(file_);
}

bool MappedFile::unchanged() const {
  struct stat now {};
  return ::fstat(file_, &now) == 0 && now.st_size == status_.st_size && now.st_mtim.tv_sec == status_.st_mtim.tv_sec &&
         now.st_mtim.tv_nsec == status_.st_mtim.tv_nsec;
}

void MappedFile::release(size_t begin, size_t end) const {
  const auto page = uintptr_t(::sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<uintptr_t>(data_);
  const uintptr_t first = (start + begin + page - 1) / page * page, last = (start + end) / page * page;
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace hearth
