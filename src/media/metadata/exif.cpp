#include "media/metadata/exif.h"

#include "core/error.h"
#include "core/text/utf8.h"

namespace hearth {
namespace {

constexpr uint16_t orientation_tag = 0x0112, exif_pointer_tag = 0x8769, user_comment_tag = 0x9286;
constexpr uint16_t ascii = 2, short_number = 3, long_number = 4, undefined = 7;
constexpr std::string_view unicode_mark("UNICODE\0", 8);

uint32_t number(std::string_view bytes, size_t count, bool big) {
  uint32_t v = 0;
  for (size_t i = 0; i < count; ++i) v |= uint32_t(uint8_t(bytes[i])) << 8 * (big ? count - 1 - i : i);
  return v;
}

struct Field {
  uint16_t tag, type;
  uint32_t count;
  std::string_view data;  // the whole value, inline or elsewhere in the block
};

size_t size_of(uint16_t type) {
  constexpr size_t sizes[] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8};
  return type < std::size(sizes) ? sizes[type] : 0;
}

std::vector<Field> directory(std::string_view tiff, size_t at, bool big) {
  std::vector<Field> fields;
  if (at > tiff.size() || tiff.size() - at < 2) return fields;
  const size_t count = number(tiff.substr(at), 2, big);
  for (size_t i = 0; i < count; ++i) {
    const size_t entry = at + 2 + 12 * i;
    if (entry > tiff.size() || tiff.size() - entry < 12) break;
    Field f{.tag = uint16_t(number(tiff.substr(entry), 2, big)),
            .type = uint16_t(number(tiff.substr(entry + 2), 2, big)),
            .count = number(tiff.substr(entry + 4), 4, big),
            .data = {}};
    const uint64_t size = uint64_t(f.count) * size_of(f.type);
    const size_t begin = size <= 4 ? entry + 8 : number(tiff.substr(entry + 8), 4, big);
    if (size == 0 || begin > tiff.size() || tiff.size() - begin < size) continue;
    f.data = tiff.substr(begin, size);
    fields.push_back(f);
  }
  return fields;
}

std::string from_utf16(std::string_view bytes, bool big) {
  std::u32string points;
  for (size_t i = 0; i + 2 <= bytes.size(); i += 2) {
    char32_t c = number(bytes.substr(i), 2, big);
    if (c >= 0xD800 && c < 0xDC00 && i + 4 <= bytes.size()) {
      const char32_t low = number(bytes.substr(i + 2), 2, big);
      if (low >= 0xDC00 && low < 0xE000) {
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
        i += 2;
      }
    }
    points.push_back(c);  // half of a surrogate pair is encoded as U+FFFD
  }
  return encode_utf8(points);
}

// Writers differ in the byte order: that of the EXIF block, or always big endian. Prompts and settings contain ASCII, whose upper byte is
// zero, so the order in which more upper bytes are zero is the right one.
bool is_big_endian(std::string_view utf16, bool otherwise) {
  size_t even = 0, odd = 0;
  for (size_t i = 0; i + 2 <= utf16.size(); i += 2) {
    even += utf16[i] == 0;
    odd += utf16[i + 1] == 0;
  }
  return even == odd ? otherwise : even > odd;
}

std::string without_zeros(std::string text) {
  text.erase(text.find_last_not_of('\0') + 1);
  return text;
}

std::string comment(std::string_view data, bool big) {
  if (data.size() < 8) return "";
  const std::string_view kind = data.substr(0, 8), body = data.substr(8);
  if (kind != unicode_mark) return without_zeros(utf8_or_latin1(body));
  if (body.starts_with("\xFE\xFF")) return without_zeros(from_utf16(body.substr(2), true));
  if (body.starts_with("\xFF\xFE")) return without_zeros(from_utf16(body.substr(2), false));
  return without_zeros(from_utf16(body, is_big_endian(body, big)));
}

void put(std::string& out, uint32_t value, size_t count) {
  for (size_t i = 0; i < count; ++i) out += char(value >> 8 * (count - 1 - i));
}

// A directory of one field, at `at`; a value of more than four bytes follows it.
void put_directory(std::string& out, uint16_t tag, uint16_t type, uint32_t count, uint32_t value) {
  put(out, 1, 2);
  put(out, tag, 2);
  put(out, type, 2);
  put(out, count, 4);
  put(out, value, 4);
  put(out, 0, 4);  // no further directory
}

}  // namespace

Exif parse_exif(std::string_view bytes) {
  Exif exif;
  if (bytes.starts_with(std::string_view("Exif\0\0", 6))) bytes.remove_prefix(6);
  const bool big = bytes.starts_with(std::string_view("MM\0*", 4));
  if (bytes.size() < 8 || (!big && !bytes.starts_with(std::string_view("II*\0", 4)))) return exif;

  for (const Field& f : directory(bytes, number(bytes.substr(4), 4, big), big)) {
    if (f.tag == orientation_tag && (f.type == short_number || f.type == long_number))
      exif.orientation = number(f.data, size_of(f.type), big);
    else if (f.type == ascii) exif.texts.emplace_back(f.tag, without_zeros(utf8_or_latin1(f.data)));
    else if (f.tag == exif_pointer_tag && f.type == long_number)
      for (const Field& inner : directory(bytes, number(f.data, 4, big), big))
        if (inner.tag == user_comment_tag && (inner.type == undefined || inner.type == ascii)) exif.user_comment = comment(inner.data, big);
  }
  return exif;
}

std::string write_exif(std::string_view user_comment) {
  if (!is_utf8(user_comment)) fail<UsageError>("exif: the text is not valid UTF-8");
  std::string text(unicode_mark);
  for (char32_t c : decode_utf8(user_comment)) {
    if (c >= 0x10000) {
      put(text, 0xD800 + ((c - 0x10000) >> 10), 2);
      c = 0xDC00 + ((c - 0x10000) & 0x3FF);
    }
    put(text, c, 2);
  }
  constexpr uint32_t header = 8, one_field = 18;
  std::string out("MM\0*", 4);
  put(out, header, 4);
  put_directory(out, exif_pointer_tag, long_number, 1, header + one_field);
  put_directory(out, user_comment_tag, undefined, uint32_t(text.size()), header + 2 * one_field);
  return out + text;
}

}  // namespace hearth
