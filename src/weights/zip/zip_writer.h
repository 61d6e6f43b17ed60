// A zip archive of members that are stored as they are, written one after another without knowing their bytes before.
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
  // A member of `size` bytes, which `data` hands over in as many pieces as it likes. They begin at a multiple of 64 bytes. UsageError where
  // they are not as many.
  void add(const std::string& name, uint64_t size, const std::function<void(const Write&)>& data);
  // The directory; the file is there now, or never.
  void commit();

 private:
  void put(std::string_view bytes);

  FileWriter file_;
  uint64_t written_ = 0, members_ = 0;
  std::string directory_;
};

}  // namespace hearth
