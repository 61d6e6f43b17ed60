#include "core/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace hearth {

MappedFile::MappedFile(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
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

MappedFile::~MappedFile() {
  if (data_) ::munmap(data_, size_);
}

void MappedFile::release(size_t begin, size_t end) const {
  const auto page = uintptr_t(::sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<uintptr_t>(data_);
  const uintptr_t first = (start + begin + page - 1) / page * page, last = (start + end) / page * page;
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace hearth
