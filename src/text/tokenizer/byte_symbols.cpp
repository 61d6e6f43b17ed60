#include "text/tokenizer/byte_symbols.h"

#include "core/utf8.h"
#include "text/byte_pairs.h"

namespace hearth::text::pipeline {

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
