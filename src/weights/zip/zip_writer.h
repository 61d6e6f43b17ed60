// Writes a zip archive of uncompressed members in a single pass.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "core/files/file.h"

namespace hearth {

class ZipWriter {
 public:
  explicit ZipWriter(const std::filesystem::path& file) : file_(file) {}

  using Write = std::function<void(std::string_view)>;
  // Adds a member of `size` bytes, which `data` passes to its argument in any number of pieces. Its data start at a multiple of 64 bytes.
  // UsageError if the number of bytes differs from `size`.
  void add(const std::string& name, uint64_t size, const std::function<void(const Write&)>& data);
  // Writes the directory and completes the file. Without this call, no file is created.
  void commit();

 private:
  void put(std::string_view bytes);

  FileWriter file_;
  uint64_t written_ = 0, members_ = 0;
  std::string directory_;
};

}  // namespace hearth
