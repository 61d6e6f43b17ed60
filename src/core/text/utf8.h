// UTF-8. Nothing else in hearth reads or writes its bytes.
//
// Valid is what Unicode 15, table 3-7, allows: no surrogates, no overlong forms, nothing above U+10FFFF. Where bytes may be invalid, each
// maximal invalid part counts as one U+FFFD (§3.9, best practice; Python's errors="replace").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hearth {

constexpr char32_t replacement_character = 0xfffd;

// Any bytes.
std::u32string decode_utf8(std::string_view bytes);
bool is_utf8(std::string_view bytes);
std::string valid_utf8(std::string_view bytes);  // with U+FFFD for each invalid part
std::string latin1_to_utf8(std::string_view bytes);
std::string utf8_or_latin1(std::string_view bytes);  // valid UTF-8 as it is, other bytes read as Latin-1
// How many bytes at the end are the beginning of a character whose other bytes may still come: 0 … 3.
size_t unfinished_utf8(std::string_view bytes);

// Not a surrogate, and not above U+10FFFF: UTF-8 can write it.
constexpr bool is_character(char32_t c) { return c < 0xd800 || (c >= 0xe000 && c <= 0x10ffff); }
// What is no character is written as U+FFFD.
std::string encode_utf8(std::u32string_view text);
void append_utf8(std::string& out, char32_t c);

// The bytes of the character that begins with `lead`, in valid text.
constexpr size_t sequence_length(char lead) {
  const auto byte = uint8_t(lead);
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}
constexpr bool is_continuation(char byte) { return (uint8_t(byte) & 0xc0) == 0x80; }
size_t count_characters(std::string_view text);  // of valid text

char32_t next_beyond_ascii(std::string_view bytes, size_t& at);
// The character at `at`, which moves behind it. Any bytes; at < bytes.size().
inline char32_t next_character(std::string_view bytes, size_t& at) {
  const auto lead = uint8_t(bytes[at]);
  if (lead >= 0x80) return next_beyond_ascii(bytes, at);
  ++at;
  return lead;
}
// The character of valid text that ends before `at`, which moves to its beginning. at > 0.
char32_t previous_character(std::string_view text, size_t& at);

}  // namespace hearth
