#include "weights/zip/zip_archive.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/error.h"

namespace hearth {
namespace {

constexpr uint64_t end_bytes = 22, end64_bytes = 56, locator_bytes = 20, entry_bytes = 46, header_bytes = 30;

// Reads little-endian integers at positions that the caller has checked to be inside the file.
template <class T> T at(std::string_view file, uint64_t position) {
  T value;
  std::memcpy(&value, file.data() + position, sizeof value);
  return value;
}

bool begins(std::string_view file, uint64_t position, std::string_view magic) { return file.substr(position, magic.size()) == magic; }

struct Directory {
  uint64_t begin = 0, end = 0, members = 0;
};

// The end record is followed by a comment that extends to the end of the file.
uint64_t find_end_record(std::string_view file, const std::string& where) {
  constexpr uint64_t longest_comment = 65535;
  for (uint64_t comment = 0; comment <= longest_comment && comment + end_bytes <= file.size(); ++comment) {
    const uint64_t position = file.size() - end_bytes - comment;
    if (begins(file, position, "PK\5\6") && at<uint16_t>(file, position + 20) == comment) return position;
  }
  fail<IoError>("{}: has no end record of a zip archive: the file is cut off", where);
}

Directory find_directory(std::string_view file, const std::string& where) {
  uint64_t record = find_end_record(file, where);
  if (at<uint16_t>(file, record + 4) != 0 && at<uint16_t>(file, record + 4) != 0xffff)
    fail<UnsupportedError>("{}: is one file of a multi-part zip archive, which is not supported", where);
  uint64_t members = at<uint16_t>(file, record + 10), size = at<uint32_t>(file, record + 12), begin = at<uint32_t>(file, record + 16);
  if (record >= locator_bytes && begins(file, record - locator_bytes, "PK\6\7")) {
    const uint64_t locator = record - locator_bytes;
    record = at<uint64_t>(file, locator + 8);
    if (record > locator || locator - record < end64_bytes || !begins(file, record, "PK\6\6"))
      fail<IoError>("{}: has no 64-bit end record at byte {}, where the archive says it is", where, record);
    members = at<uint64_t>(file, record + 32);
    size = at<uint64_t>(file, record + 40);
    begin = at<uint64_t>(file, record + 48);
  }
  if (begin > record || size > record - begin)
    fail<IoError>("{}: the directory of the zip archive is said to be {} bytes at byte {}, the end record is at byte {}", where, size,
                  begin, record);
  if (members > size / entry_bytes) fail<IoError>("{}: a directory of {} bytes cannot list {} members", where, size, members);
  return {begin, begin + size, members};
}

// The 32-bit fields of an entry, or the values of its 64-bit extra field that replace them.
struct Sizes {
  uint64_t plain, packed, header;
};

Sizes sizes_of(std::string_view file, uint64_t entry, std::string_view extra, const std::string& where) {
  Sizes sizes{.plain = at<uint32_t>(file, entry + 24), .packed = at<uint32_t>(file, entry + 20), .header = at<uint32_t>(file, entry + 42)};
  while (extra.size() >= 4) {
    const auto id = at<uint16_t>(extra, 0), length = at<uint16_t>(extra, 2);
    extra.remove_prefix(4);
    if (length > extra.size()) break;
    std::string_view wide = extra.substr(0, length);
    if (id == 1) {
      for (uint64_t* field : {&sizes.plain, &sizes.packed, &sizes.header}) {
        if (*field != 0xffffffff) continue;
        if (wide.size() < 8) fail<IoError>("{} lacks a 64-bit size that its entry requires", where);
        *field = at<uint64_t>(wide, 0);
        wide.remove_prefix(8);
      }
      break;
    }
    extra.remove_prefix(length);
  }
  return sizes;
}

// The start of a member's bytes, after its own header.
uint64_t data_begin(std::string_view file, const std::string& name, uint64_t header, uint64_t directory, const std::string& where) {
  if (header > directory || directory - header < header_bytes || !begins(file, header, "PK\3\4"))
    fail<IoError>("{} has no header at byte {}, where the directory says it is", where, header);
  const uint64_t begin = header + header_bytes, name_length = at<uint16_t>(file, header + 26);
  if (directory - begin < name_length || file.substr(begin, name_length) != name)
    fail<IoError>("{} has another name in its own header", where);
  return begin + name_length + at<uint16_t>(file, header + 28);
}

}  // namespace

ZipArchive ZipArchive::parse(std::string_view file, const std::string& where) {
  const auto [begin, end, count] = find_directory(file, where);
  ZipArchive archive;
  archive.where_ = where;

  struct Place {
    uint64_t begin, end;
    const std::string* name;
  };
  std::vector<Place> places;
  uint64_t entry = begin;
  for (uint64_t i = 0; i < count; ++i) {
    if (end - entry < entry_bytes || !begins(file, entry, "PK\1\2"))
      fail<IoError>("{}: the directory of the zip archive has no entry {} of {} at byte {}", where, i + 1, count, entry);
    const uint64_t name_length = at<uint16_t>(file, entry + 28), extra_length = at<uint16_t>(file, entry + 30),
                   length = entry_bytes + name_length + extra_length + at<uint16_t>(file, entry + 32);
    if (length > end - entry) fail<IoError>("{}: entry {} of the zip archive is cut off", where, i + 1);
    const std::string name(file.substr(entry + entry_bytes, name_length));
    const std::string of_member = fmt::format("{}: member '{}'", where, name);
    const Sizes sizes = sizes_of(file, entry, file.substr(entry + entry_bytes + name_length, extra_length), of_member);

    ZipMember member{.begin = data_begin(file, name, sizes.header, begin, of_member),
                     .method = at<uint16_t>(file, entry + 10),
                     .encrypted = (at<uint16_t>(file, entry + 8) & 1) != 0};
    if (member.begin > begin || sizes.packed > begin - member.begin)
      fail<IoError>("{} is said to be {} bytes at byte {}, the directory starts at byte {}", of_member, sizes.packed, member.begin, begin);
    if (member.method == 0 && sizes.plain != sizes.packed)
      fail<IoError>("{} is stored in {} bytes, but its size is given as {}", of_member, sizes.packed, sizes.plain);
    member.end = member.begin + sizes.packed;
    const auto [placed, is_new] = archive.members_.emplace(name, member);
    if (!is_new) fail<IoError>("{} exists twice", of_member);
    places.push_back({sizes.header, member.end, &placed->first});
    entry += length;
  }
  if (entry != end) fail<IoError>("{}: {} bytes of the zip archive's directory belong to no entry", where, end - entry);

  std::ranges::sort(places, {}, &Place::begin);
  for (size_t i = 1; i < places.size(); ++i)
    if (places[i].begin < places[i - 1].end)
      fail<IoError>("{}: members '{}' and '{}' overlap", where, *places[i - 1].name, *places[i].name);
  return archive;
}

const ZipMember& ZipArchive::stored(const std::string& name) const {
  const auto found = members_.find(name);
  if (found == members_.end()) fail<IoError>("{}: has no member '{}'", where_, name);
  if (found->second.encrypted) fail<UnsupportedError>("{}: member '{}' is encrypted, which is not supported", where_, name);
  if (found->second.method != 0)
    fail<UnsupportedError>("{}: member '{}' is compressed (method {}), expected uncompressed members", where_, name, found->second.method);
  return found->second;
}

}  // namespace hearth
