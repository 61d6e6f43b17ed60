// A file being downloaded: NAME.part has the bytes at their offsets, NAME.json lists the received ranges, so that a download can resume.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::hub {

struct Range {
  int64_t begin = 0, end = 0;  // `end` excluded
  int64_t size() const { return end - begin; }
  bool operator==(const Range&) const = default;
};

class PartialFile {
 public:
  // `stem`: the path without ".part". Resumes existing partial data of a file of this size, else deletes it. IoError if the folder cannot
  // be written.
  PartialFile(std::filesystem::path stem, int64_t size);
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  void write(int64_t offset, std::string_view bytes);  // counts as received at once; IoError, for example on a full disk
  std::vector<Range> missing() const;
  int64_t done() const { return done_; }
  bool is_complete() const { return done_ == size_; }
  // The server's identifier of the content; saved with the ranges.
  const std::string& etag() const { return etag_; }
  void set_etag(const std::string& etag) { etag_ = etag; }
  bool is_verified() const { return verified_; }
  void set_verified() { verified_ = true; }

  void save();    // writes the ranges
  void flush();   // flushes the bytes to the disk
  void reset();   // starts over
  void remove();  // deletes both files; call nothing afterwards
  std::filesystem::path path() const;

 private:
  std::filesystem::path sidecar() const;
  void load();
  void add(Range range);

  std::filesystem::path stem_;
  int64_t size_, done_ = 0;
  int file_ = -1;
  std::map<int64_t, int64_t> ranges_;  // begin → end; disjoint and not adjacent
  std::string etag_;
  bool verified_ = false;
};

}  // namespace hearth::hub
