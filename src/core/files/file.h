// Files are read whole, and written whole or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace hearth {

// The file's bytes. IoError when it is missing, no regular file, unreadable or larger than `limit`.
std::string read_file(const std::filesystem::path& file, int64_t limit = int64_t(1) << 32);

// Writes to a temporary file in the same folder, flushes it to the disk and renames it to `file`, which it replaces; a symbolic
// link is followed. The file appears complete or not at all: on failure the temporary file is removed and IoError names the cause
// (missing or read-only folder, full disk, a folder or device in its place).
void write_file(const std::filesystem::path& file, std::string_view bytes);
// The same for bytes that lie in several places, without flushing: for a file whose reader notices when it is damaged.
void write_file_unflushed(const std::filesystem::path& file, std::span<const std::string_view> pieces);

// The same piece by piece, for what does not fit into memory: the file appears with commit(), or not at all.
class FileWriter {
 public:
  explicit FileWriter(const std::filesystem::path& file);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;
  void write(std::string_view bytes);
  void commit();  // flushes and renames; nothing may be written afterwards

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// IoError where write_file would fail for a reason that can be known before: tries by making and removing an empty file.
void check_writable(const std::filesystem::path& file);

}  // namespace hearth
