// A file's bytes as memory, read when they are touched.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <filesystem>

namespace hearth {

// The whole file, read-only. IoError when it is missing, no regular file or cannot be mapped.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::byte* data() const { return data_; }  // nullptr where the file is empty; writing to it ends the process
  size_t size() const { return size_; }
  // The whole pages of [begin, end) are not needed any more: the process no longer holds them. What lies there can still be read.
  void release(size_t begin, size_t end) const;
  bool unchanged() const;  // nobody has written to it since it was mapped; a file put in its place does not count

 private:
  int file_ = -1;
  struct stat status_ {};
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace hearth
