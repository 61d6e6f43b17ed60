// A file mapped into memory; its pages are read on first access.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace hearth {

// The whole file, read-only. IoError if it is missing, not a regular file, or cannot be mapped.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::byte* data() const { return data_; }  // nullptr if the file is empty; writing to it crashes the process
  size_t size() const { return size_; }
  // Removes the whole pages of [begin, end) from the process's memory. They can still be read.
  void release(size_t begin, size_t end) const;
  // Reads pages of a mapped file into the process's memory.
  static void fetch(const std::byte* begin, size_t bytes);
  static int64_t resident_bytes();  // what all mapped files together take of the process's memory

  bool unchanged() const;  // not written to since it was mapped; a file that replaces it does not count

 private:
  int file_ = -1;
  struct stat status_ {};
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace hearth
