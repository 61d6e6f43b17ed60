#include "core/text/utf8.h"

#include <algorithm>

namespace hearth {

namespace {

constexpr char32_t invalid = ~char32_t(0);

// The character at `at`, or `invalid`; moves `at` behind it, or behind the maximal invalid part.
char32_t next_or_invalid(std::string_view bytes, size_t& at) {
  const auto lead = uint8_t(bytes[at++]);
  if (lead < 0x80) return lead;
  if (lead < 0xc2 || lead > 0xf4) return invalid;
  // Table 3-7: four lead bytes restrict the range of their second byte.
  uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  const size_t length = sequence_length(char(lead));
  char32_t c = lead & (0x7f >> length);
  for (size_t i = 1; i < length; ++i, ++at) {
    const uint8_t byte = at < bytes.size() ? uint8_t(bytes[at]) : uint8_t(0);
    if (byte < low || byte > high) return invalid;
    c = c << 6 | (byte & 0x3f);
    low = 0x80, high = 0xbf;
  }
  return c;
}

bool is_ascii(std::string_view bytes) {
  bool ascii = true;
  for (const char c : bytes) ascii = ascii && uint8_t(c) < 0x80;
  return ascii;
}

}  // namespace

char32_t next_beyond_ascii(std::string_view bytes, size_t& at) {
  const char32_t c = next_or_invalid(bytes, at);
  return c == invalid ? replacement_character : c;
}

char32_t previous_character(std::string_view text, size_t& at) {
  do --at;
  while (at > 0 && is_continuation(text[at]));
  size_t begin = at;
  return next_character(text, begin);
}

std::u32string decode_utf8(std::string_view bytes) {
  std::u32string out;
  out.reserve(bytes.size());
  for (size_t at = 0; at < bytes.size();) out.push_back(next_character(bytes, at));
  return out;
}

bool is_utf8(std::string_view bytes) {
  for (size_t at = 0; at < bytes.size();)
    if (next_or_invalid(bytes, at) == invalid) return false;
  return true;
}

std::string valid_utf8(std::string_view bytes) { return is_ascii(bytes) ? std::string(bytes) : encode_utf8(decode_utf8(bytes)); }

std::string latin1_to_utf8(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) append_utf8(text, uint8_t(c));
  return text;
}

std::string utf8_or_latin1(std::string_view bytes) { return is_utf8(bytes) ? std::string(bytes) : latin1_to_utf8(bytes); }

size_t unfinished_utf8(std::string_view bytes) {
  for (size_t n = 1; n <= 3 && n <= bytes.size(); ++n) {
    const size_t begin = bytes.size() - n;
    const char lead = bytes[begin];
    if (is_continuation(lead)) continue;
    if (uint8_t(lead) < 0xc2 || uint8_t(lead) > 0xf4 || sequence_length(lead) <= n) return 0;
    // A sequence that can still become a character is one invalid part up to the end.
    size_t at = begin;
    next_or_invalid(bytes, at);
    return at == bytes.size() ? n : 0;
  }
  return 0;
}

void append_utf8(std::string& out, char32_t c) {
  if (!is_character(c)) c = replacement_character;
  if (c < 0x80) {
    out += char(c);
  } else if (c < 0x800) {
    out += {char(0xc0 | (c >> 6)), char(0x80 | (c & 0x3f))};
  } else if (c < 0x10000) {
    out += {char(0xe0 | (c >> 12)), char(0x80 | ((c >> 6) & 0x3f)), char(0x80 | (c & 0x3f))};
  } else {
    out += {char(0xf0 | (c >> 18)), char(0x80 | ((c >> 12) & 0x3f)), char(0x80 | ((c >> 6) & 0x3f)), char(0x80 | (c & 0x3f))};
  }
}

std::string encode_utf8(std::u32string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char32_t c : text) append_utf8(out, c);
  return out;
}

size_t count_characters(std::string_view text) {
  return size_t(std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

}  // namespace hearth
