#include "text/tokenizer/utf8.h"

#include <array>

#include "text/byte_pairs.h"
#include "text/unicode.h"

namespace hearth::text::pipeline {

std::string valid_utf8(std::string_view bytes) {
  bool ascii = true;
  for (const char c : bytes) ascii = ascii && uint8_t(c) < 0x80;
  return ascii ? std::string(bytes) : encode_utf8(decode_utf8(bytes));
}

size_t unfinished_utf8(std::string_view bytes) {
  for (size_t n = 1; n <= 3 && n <= bytes.size(); ++n) {
    const char lead = bytes[bytes.size() - n];
    if (is_continuation(lead)) continue;
    // One more character tells: where the part is a beginning, its last byte and what follows are one error together with its lead.
    if (uint8_t(lead) < 0xc2 || uint8_t(lead) > 0xf4 || sequence_length(lead) <= n) return 0;
    return decode_utf8(bytes.substr(bytes.size() - n)).size() == 1 ? n : 0;
  }
  return 0;
}

void append_byte_symbols(std::string& out, std::string_view bytes) {
  for (const char byte : bytes) out += byte_symbol(uint8_t(byte));
}

bool append_bytes_of_symbols(std::string& out, std::string_view symbols) {
  const size_t before = out.size();
  for (size_t at = 0; at < symbols.size();) {
    const int byte = byte_of_symbol(next_character(symbols, at));
    if (byte < 0) {
      out.resize(before);
      return false;
    }
    out += char(byte);
  }
  return true;
}

}  // namespace hearth::text::pipeline
