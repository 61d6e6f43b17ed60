// A file on its way: NAME.part holds bytes at their places, NAME.json says which ranges are there, so that an interrupted download resumes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::hub {

struct Range {
  int64_t begin = 0, end = 0;  // the end excluded
  int64_t size() const { return end - begin; }
  bool operator==(const Range&) const = default;
};

class PartialFile {
 public:
  // `stem`: the path without ".part". What is there is taken up when it is of a file of this size; else it is dropped. IoError where the
  // folder cannot be written.
  PartialFile(std::filesystem::path stem, int64_t size);
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  void write(int64_t offset, std::string_view bytes);  // counts as there at once; IoError, as on a full disk
  std::vector<Range> missing() const;
  int64_t done() const { return done_; }
  bool is_complete() const { return done_ == size_; }
  // What the server calls the content; kept with the ranges.
  const std::string& etag() const { return etag_; }
  void set_etag(const std::string& etag) { etag_ = etag; }
  bool is_verified() const { return verified_; }
  void set_verified() { verified_ = true; }

  void save();    // the ranges
  void flush();   // the bytes, to the disk
  void reset();   // starts over
  void remove();  // both files; nothing may be called afterwards
  std::filesystem::path path() const;

 private:
  std::filesystem::path sidecar() const;
  void load();
  void add(Range range);

  std::filesystem::path stem_;
  int64_t size_, done_ = 0;
  int file_ = -1;
  std::map<int64_t, int64_t> ranges_;  // begin → end; apart from each other
  std::string etag_;
  bool verified_ = false;
};

}  // namespace hearth::hub
