// Finds the members of a zip archive, which is untrusted input. For formats with uncompressed members, so that a member is a range of the
// mapped file.
//
// Reads the end record, its 64-bit form, the central directory (whose sizes apply if a data descriptor follows the data) and each member's
// own header. Ignores checksums, because torch has an option to leave them 0.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace hearth {

struct ZipMember {
  uint64_t begin = 0, end = 0;  // of its stored bytes, from the start of the file
  uint16_t method = 0;          // 0: stored; 8: deflated
  bool encrypted = false;
};

class ZipArchive {
 public:
  // Reads and checks the directory of a whole file. IoError, with a message that starts with `where`, unless the directory is at the
  // position and has the number of members that the end record states, no name is duplicated, and every member is inside the file, before
  // the directory, does not overlap another, and has the same name in its own header. UnsupportedError for an archive in several files.
  static ZipArchive parse(std::string_view file, const std::string& where);
  // Whether a file starts like a zip archive.
  static bool is_one(std::string_view file) { return file.starts_with("PK\3\4") || file.starts_with("PK\5\6"); }

  const std::map<std::string, ZipMember>& members() const { return members_; }
  bool has(const std::string& name) const { return members_.contains(name); }
  // IoError if the member does not exist, UnsupportedError if it is compressed or encrypted.
  const ZipMember& stored(const std::string& name) const;

 private:
  std::string where_;
  std::map<std::string, ZipMember> members_;
};

}  // namespace hearth
