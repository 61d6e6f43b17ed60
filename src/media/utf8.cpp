#include "media/utf8.h"

#include <cstdint>

namespace hearth {

std::optional<std::u32string> decode_utf8(std::string_view bytes) {
  std::u32string out;
  out.reserve(bytes.size());
  for (size_t i = 0; i < bytes.size();) {
    const auto lead = uint8_t(bytes[i++]);
    const int more = lead < 0x80 ? 0 : lead >> 5 == 0b110 ? 1 : lead >> 4 == 0b1110 ? 2 : lead >> 3 == 0b11110 ? 3 : -1;
    if (more < 0 || bytes.size() - i < size_t(more)) return std::nullopt;
    char32_t c = more == 0 ? lead : lead & (0x3Fu >> more);
    for (int k = 0; k < more; ++k) {
      const auto next = uint8_t(bytes[i++]);
      if (next >> 6 != 0b10) return std::nullopt;
      c = c << 6 | (next & 0x3Fu);
    }
    constexpr char32_t smallest[] = {0, 0x80, 0x800, 0x10000};
    if (c < smallest[more] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) return std::nullopt;
    out.push_back(c);
  }
  return out;
}

std::string encode_utf8(std::u32string_view code_points) {
  std::string out;
  for (const char32_t c : code_points) {
    if (c < 0x80) {
      out += char(c);
      continue;
    }
    const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    out += char((0xFF00u >> (more + 1) & 0xFFu) | c >> 6 * more);
    for (int k = more - 1; k >= 0; --k) out += char(0x80u | (c >> 6 * k & 0x3Fu));
  }
  return out;
}

}  // namespace hearth
