// The members of a zip archive, found without trusting a byte of it: for formats that keep their data uncompressed, so that a member is
// a range of the mapped file.
//
// Read are the end record, its 64-bit form, the central directory (whose sizes count where a data descriptor follows the data) and each
// member's own header. Check sums are not looked at: torch can be told to leave them 0.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace hearth {

struct ZipMember {
  uint64_t begin = 0, end = 0;  // of its bytes as the archive holds them, from the start of the file
  uint16_t method = 0;          // 0: as they are; 8: deflated
  bool encrypted = false;
};

class ZipArchive {
 public:
  // Reads and checks the directory of a whole file. IoError that begins with `where` unless it is sound: a directory where the end
  // record places it, with as many members as that says; no name twice; every member inside the file, before the directory and apart
  // from the others, under the same name in both places. UnsupportedError for an archive in several parts.
  static ZipArchive parse(std::string_view file, const std::string& where);
  // Whether a file begins as zip archives do.
  static bool is_one(std::string_view file) { return file.starts_with("PK\3\4") || file.starts_with("PK\5\6"); }

  const std::map<std::string, ZipMember>& members() const { return members_; }
  bool has(const std::string& name) const { return members_.contains(name); }
  // IoError where it is not there, UnsupportedError where it is compressed or encrypted.
  const ZipMember& stored(const std::string& name) const;

 private:
  std::string where_;
  std::map<std::string, ZipMember> members_;
};

}  // namespace hearth
