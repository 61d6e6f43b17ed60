#include "weights/zip/zip_writer.h"

#include <zlib.h>

#include "core/error.h"

namespace hearth {
namespace {

constexpr uint16_t version = 45;  // required of readers: 64-bit sizes
constexpr uint16_t sum_follows = 1 << 3, utf8 = 1 << 11;
constexpr uint16_t date = (0 << 9) | (1 << 5) | 1;  // 1980-01-01, so that the output is reproducible
constexpr uint32_t elsewhere = 0xffffffff;          // the value is in the 64-bit extra field
constexpr uint64_t alignment = 64;

template <class T> void append(std::string& to, T value) { to.append(reinterpret_cast<const char*>(&value), sizeof value); }

// The fields that a member's two headers share, from the required version to the length of the name.
std::string common(uint32_t sum, const std::string& name) {
  std::string head;
  append(head, version);
  append(head, uint16_t(sum_follows | utf8));
  append<uint16_t>(head, 0);  // stored
  append<uint16_t>(head, 0);  // midnight
  append(head, date);
  append(head, sum);
  append(head, elsewhere);
  append(head, elsewhere);
  append(head, uint16_t(name.size()));
  return head;
}

}  // namespace

void ZipWriter::put(std::string_view bytes) {
  file_.write(bytes);
  written_ += bytes.size();
}

void ZipWriter::add(const std::string& name, uint64_t size, const std::function<void(const Write&)>& data) {
  const uint64_t start = written_;
  std::string sizes;
  append<uint16_t>(sizes, 1);
  append<uint16_t>(sizes, 16);
  append(sizes, size);
  append(sizes, size);
  // An extra field of zeros before the data aligns them, as zipalign does.
  constexpr uint64_t header = 30, field = 4;
  const uint64_t unpadded = start + header + name.size() + sizes.size() + field;
  const auto padding = uint16_t((alignment - unpadded % alignment) % alignment);
  std::string head = "PK\3\4" + common(0, name);
  append(head, uint16_t(sizes.size() + field + padding));
  head += name + sizes;
  append<uint16_t>(head, 0xd935);
  append(head, padding);
  head.append(padding, '\0');
  put(head);

  uLong sum = 0;
  const uint64_t begin = written_;
  data([&](std::string_view bytes) {
    sum = ::crc32_z(sum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
    put(bytes);
  });
  if (written_ - begin != size) fail<UsageError>("zip: '{}' got {} bytes, expected {}", name, written_ - begin, size);
  std::string tail = "PK\7\x8";
  append(tail, uint32_t(sum));
  append(tail, size);
  append(tail, size);
  put(tail);

  std::string extra;
  append<uint16_t>(extra, 1);
  append<uint16_t>(extra, 24);
  append(extra, size);
  append(extra, size);
  append(extra, start);
  directory_ += "PK\1\2";
  append(directory_, version);
  directory_ += common(uint32_t(sum), name);
  append(directory_, uint16_t(extra.size()));
  append<uint16_t>(directory_, 0);  // no comment
  append<uint16_t>(directory_, 0);  // this disk
  append<uint16_t>(directory_, 0);
  append<uint32_t>(directory_, 0);
  append(directory_, elsewhere);
  directory_ += name + extra;
  ++members_;
}

void ZipWriter::commit() {
  const uint64_t begin = written_;
  put(directory_);
  std::string end = "PK\6\6";
  append<uint64_t>(end, 44);  // size of the rest of the record
  append(end, version);
  append(end, version);
  append<uint32_t>(end, 0);
  append<uint32_t>(end, 0);
  append(end, members_);
  append(end, members_);
  append<uint64_t>(end, directory_.size());
  append(end, begin);
  const uint64_t record = written_;
  end += "PK\6\7";
  append<uint32_t>(end, 0);
  append(end, record);
  append<uint32_t>(end, 1);
  end += "PK\5\6";
  append<uint16_t>(end, 0);
  append<uint16_t>(end, 0);
  append<uint16_t>(end, 0xffff);
  append<uint16_t>(end, 0xffff);
  append(end, elsewhere);
  append(end, elsewhere);
  append<uint16_t>(end, 0);
  put(end);
  file_.commit();
}

}  // namespace hearth
