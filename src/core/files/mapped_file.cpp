#include "core/files/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>

#include "core/error.h"

namespace hearth {
namespace {

constexpr size_t large = size_t(64) << 20;

// Addresses of all mapped files: begin → end.
struct Mappings {
  std::mutex mutex;
  std::map<uintptr_t, uintptr_t> ranges;
};
Mappings& mappings() {
  static Mappings& all = *new Mappings;  // never destroyed: files of static objects are unmapped late
  return all;
}

size_t page_size() {
  static const auto size = size_t(::sysconf(_SC_PAGESIZE));
  return size;
}

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
  {
    const auto begin = reinterpret_cast<uintptr_t>(address);
    const std::lock_guard lock(mappings().mutex);
    mappings().ranges[begin] = begin + size_;
  }
  // The system then reads missing pages in pieces of 2 MiB if the file system supports them. Products with weights in place read these a
  // fifth faster than scattered 4 KiB pages (docs/performance.md).
  if (size_ >= large) ::madvise(address, size_, MADV_HUGEPAGE);
}

MappedFile::~MappedFile() {
  if (data_) {
    {
      const std::lock_guard lock(mappings().mutex);
      mappings().ranges.erase(reinterpret_cast<uintptr_t>(data_));
    }
    ::munmap(data_, size_);
  }
  ::close(file_);
}

bool MappedFile::unchanged() const {
  struct stat now {};
  return ::fstat(file_, &now) == 0 && now.st_size == status_.st_size && now.st_mtim.tv_sec == status_.st_mtim.tv_sec &&
         now.st_mtim.tv_nsec == status_.st_mtim.tv_nsec;
}

void MappedFile::release(size_t begin, size_t end) const {
  const uintptr_t page = page_size();
  const auto start = reinterpret_cast<uintptr_t>(data_);
  const uintptr_t first = (start + begin + page - 1) / page * page, last = (start + end) / page * page;
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

void MappedFile::fetch(const std::byte* begin, size_t bytes) {
  if (bytes == 0) return;
  const size_t page = page_size();
  const uintptr_t first = reinterpret_cast<uintptr_t>(begin) / page * page, last = reinterpret_cast<uintptr_t>(begin) + bytes;
#ifdef MADV_POPULATE_READ
  if (::madvise(reinterpret_cast<void*>(first), last - first, MADV_POPULATE_READ) == 0) return;
#endif
  std::byte sum{};
  for (uintptr_t at = first; at < last; at += page) sum ^= *reinterpret_cast<const volatile std::byte*>(at);
  static_cast<void>(sum);
}

// The system lists each mapping by its addresses, followed by its sizes:
//   7f0a2c000000-7f0a2d000000 r--p 00000000 fe:00 1234  /path
//   Rss:               16384 kB
int64_t MappedFile::resident_bytes() {
  std::ifstream in("/proc/self/smaps");
  int64_t bytes = 0;
  bool ours = false;
  for (std::string line; std::getline(in, line);) {
    uint64_t begin = 0, end = 0;
    char dash = 0;
    std::istringstream head(line);
    if (head >> std::hex >> begin >> dash >> end && dash == '-') {
      const std::lock_guard lock(mappings().mutex);
      const auto after = mappings().ranges.upper_bound(begin);
      ours = after != mappings().ranges.begin() && begin < std::prev(after)->second;
    } else if (ours && line.starts_with("Rss:")) {
      bytes += std::stoll(line.substr(4)) * 1024;
    }
  }
  return bytes;
}

}  // namespace hearth
