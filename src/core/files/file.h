// Reads whole files, and writes whole files or nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace hearth {

// The file's bytes. IoError if the file is missing, not a regular file, unreadable or larger than `limit` bytes.
std::string read_file(const std::filesystem::path& file, int64_t limit = int64_t(1) << 32);

// Writes to a temporary file in the same folder, flushes it to the disk and renames it to `file`, which it replaces; a symbolic
// link is followed. The file appears complete or not at all: on failure the temporary file is removed and IoError names the cause
// (missing or read-only folder, full disk, a folder or device of that name).
void write_file(const std::filesystem::path& file, std::string_view bytes);
// The same for bytes in several pieces, without flushing: for files whose reader detects damage.
void write_file_unflushed(const std::filesystem::path& file, std::span<const std::string_view> pieces);

// The same piece by piece, for data that does not fit into memory: the file appears with commit(), or not at all.
class FileWriter {
 public:
  explicit FileWriter(const std::filesystem::path& file);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;
  void write(std::string_view bytes);
  void commit();            // flushes and renames; nothing may be written afterwards
  void commit_unflushed();  // for files whose reader detects damage

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Throws the IoError of write_file if its cause can be detected in advance, by creating and removing an empty file.
void check_writable(const std::filesystem::path& file);

}  // namespace hearth
