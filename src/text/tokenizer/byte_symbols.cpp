#include "text/tokenizer/byte_symbols.h"

#include <array>
#include <cstdint>

#include "core/text/utf8.h"

namespace hearth::text::pipeline {

namespace {

struct ByteTable {
  std::array<std::string, 256> symbol;
  std::array<int, 512> byte;  // -1 for a character that represents no byte

  ByteTable() {
    byte.fill(-1);
    char32_t next = 256;
    for (int b = 0; b < 256; ++b) {
      const bool printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
      const char32_t c = printable ? char32_t(b) : next++;
      append_utf8(symbol[size_t(b)], c);
      byte[c] = b;
    }
  }
};

const ByteTable& table() {
  static const ByteTable made;
  return made;
}

}  // namespace

void append_byte_symbols(std::string& out, std::string_view bytes) {
  for (const char byte : bytes) out += table().symbol[uint8_t(byte)];
}

bool append_bytes_of_symbols(std::string& out, std::string_view symbols) {
  const size_t before = out.size();
  for (size_t at = 0; at < symbols.size();) {
    const char32_t c = next_character(symbols, at);
    const int byte = c < table().byte.size() ? table().byte[c] : -1;
    if (byte < 0) {
      out.resize(before);
      return false;
    }
    out += char(byte);
  }
  return true;
}

}  // namespace hearth::text::pipeline
