// Walking through UTF-8 that is known to be valid.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hearth::text::pipeline {

inline size_t sequence_length(char lead) {
  const auto byte = uint8_t(lead);
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

inline bool is_continuation(char byte) { return (uint8_t(byte) & 0xc0) == 0x80; }

// The character at `at`, which moves behind it.
inline char32_t next_character(std::string_view text, size_t& at) {
  const size_t length = sequence_length(text[at]);
  auto c = char32_t(uint8_t(text[at]));
  if (length > 1) c &= 0x7f >> length;
  for (size_t i = 1; i < length; ++i) c = c << 6 | (uint8_t(text[at + i]) & 0x3f);
  at += length;
  return c;
}

// The character that ends before `at`, which moves to its beginning.
inline char32_t previous_character(std::string_view text, size_t& at) {
  do --at;
  while (is_continuation(text[at]));
  size_t begin = at;
  return next_character(text, begin);
}

// Any bytes → valid UTF-8: each maximal invalid part becomes one U+FFFD.
std::string valid_utf8(std::string_view bytes);
// How many bytes at the end are the beginning of a character whose other bytes may still come: 0 … 3.
size_t unfinished_utf8(std::string_view bytes);

// GPT-2's table: the character that stands for a byte, in UTF-8, appended.
void append_byte_symbols(std::string& out, std::string_view bytes);
// Back; false where a character stands for no byte, and nothing is appended then.
bool append_bytes_of_symbols(std::string& out, std::string_view symbols);

}  // namespace hearth::text::pipeline
