// UTF-8. All encoding and decoding in hearth is here.
//
// Valid means valid in Unicode 15, table 3-7: no surrogates, no overlong forms, nothing above U+10FFFF. In bytes that may be invalid, each
// maximal invalid part counts as one U+FFFD (§3.9, best practice; Python's errors="replace").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hearth {

constexpr char32_t replacement_character = 0xfffd;

// These accept any bytes.
std::u32string decode_utf8(std::string_view bytes);
bool is_utf8(std::string_view bytes);
std::string valid_utf8(std::string_view bytes);  // with U+FFFD in place of each invalid part
std::string latin1_to_utf8(std::string_view bytes);
std::string utf8_or_latin1(std::string_view bytes);  // valid UTF-8 unchanged, other bytes as Latin-1
// Number of bytes at the end that start a character whose other bytes may still follow: 0 to 3.
size_t unfinished_utf8(std::string_view bytes);

// Whether UTF-8 can encode c: not a surrogate, and not above U+10FFFF.
constexpr bool is_character(char32_t c) { return c < 0xd800 || (c >= 0xe000 && c <= 0x10ffff); }
// Code points that cannot be encoded are written as U+FFFD.
std::string encode_utf8(std::u32string_view text);
void append_utf8(std::string& out, char32_t c);

// Number of bytes of the character that starts with `lead`, in valid text.
constexpr size_t sequence_length(char lead) {
  const auto byte = uint8_t(lead);
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}
constexpr bool is_continuation(char byte) { return (uint8_t(byte) & 0xc0) == 0x80; }
size_t count_characters(std::string_view text);  // of valid text

char32_t next_beyond_ascii(std::string_view bytes, size_t& at);
// Returns the character at `at`, and moves `at` behind it. Accepts any bytes; at < bytes.size().
inline char32_t next_character(std::string_view bytes, size_t& at) {
  const auto lead = uint8_t(bytes[at]);
  if (lead >= 0x80) return next_beyond_ascii(bytes, at);
  ++at;
  return lead;
}
// Returns the character of valid text that ends before `at`, and moves `at` to its start. at > 0.
char32_t previous_character(std::string_view text, size_t& at);

}  // namespace hearth
