// ftfy 6.3.1's fix_text without the repair of mis-decoded text.
#include <array>
#include <charconv>

#include "core/text/utf8.h"
#include "text/clip/clip_cleaning.h"
#include "text/clip/html_entities.h"
#include "text/unicode.h"

namespace hearth::text {

namespace {

// The C1 range of Windows-1252. The five unassigned positions keep their value.
constexpr std::array<char32_t, 32> windows_1252 = {0x20ac, 0x81,   0x201a, 0x192,  0x201e, 0x2026, 0x2020, 0x2021, 0x2c6,  0x2030, 0x160,
                                                   0x2039, 0x152,  0x8d,   0x17d,  0x8f,   0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
                                                   0x2013, 0x2014, 0x2dc,  0x2122, 0x161,  0x203a, 0x153,  0x9d,   0x17e,  0x178};

std::u32string_view ligature(char32_t c) {
  switch (c) {
    case 0x132: return U"IJ";
    case 0x133: return U"ij";
    case 0x149: return U"'n";  // via U+02BC, which straightening converts to an apostrophe
    case 0x1f1: return U"DZ";
    case 0x1f2: return U"Dz";
    case 0x1f3: return U"dz";
    case 0x1c4: return U"D\u017d";
    case 0x1c5: return U"D\u017e";
    case 0x1c6: return U"d\u017e";
    case 0x1c7: return U"LJ";
    case 0x1c8: return U"Lj";
    case 0x1c9: return U"lj";
    case 0x1ca: return U"NJ";
    case 0x1cb: return U"Nj";
    case 0x1cc: return U"nj";
    case 0xfb00: return U"ff";
    case 0xfb01: return U"fi";
    case 0xfb02: return U"fl";
    case 0xfb03: return U"ffi";
    case 0xfb04: return U"ffl";
    case 0xfb05: return U"\u017ft";
    case 0xfb06: return U"st";
    default: return {};
  }
}

// The half- and full-width forms U+FF01 … U+FFEF with their replacements.
const std::array<std::u32string, 0xef>& ordinary_widths() {
  static const auto table = [] {
    std::array<std::u32string, 0xef> t;
    for (size_t i = 0; i < t.size(); ++i) t[i] = nfkc(std::u32string(1, char32_t(0xff01 + i)));
    return t;
  }();
  return table;
}

char32_t straight_quote(char32_t c) {
  if (c == 0x2bc || (c >= 0x2018 && c <= 0x201b)) return U'\'';
  if (c >= 0x201c && c <= 0x201f) return U'"';
  return c;
}

bool is_removed_control(char32_t c) {
  return c <= 0x08 || c == 0x0b || (c >= 0x0e && c <= 0x1f) || c == 0x7f || (c >= 0x206a && c <= 0x206f) || c == 0xfeff ||
         (c >= 0xfff9 && c <= 0xfffc);
}

bool is_ascii_digit(char32_t c) { return c >= U'0' && c <= U'9'; }
bool is_ascii_letter(char32_t c) { return (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z'); }

// The character of a number &#…; by HTML's rules: some numbers are mapped, some are removed, invalid ones become U+FFFD.
std::u32string numeric_reference(uint32_t code) {
  if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return U"\ufffd";
  if (code >= 0x80 && code <= 0x9f) return std::u32string(1, windows_1252[code - 0x80]);
  const bool control = (code <= 0x1f && code != '\t' && code != '\n' && code != '\f' && code != '\r') || code == 0x7f;
  const bool noncharacter = (code >= 0xfdd0 && code <= 0xfdef) || (code & 0xfffe) == 0xfffe;
  return control || noncharacter ? std::u32string() : std::u32string(1, char32_t(code));
}

// Expands the text between '&' and ';' (1 to 24 ASCII letters and digits, optionally after '#'). False: it is unchanged.
bool expand_reference(std::string_view body, std::u32string& out) {
  if (body.front() != '#') {
    const std::string_view entity = html_entity(body);
    if (!entity.empty()) out += decode_utf8(entity);
    return !entity.empty();
  }
  body.remove_prefix(1);
  const int base = body.front() == 'x' || body.front() == 'X' ? 16 : 10;
  if (base == 16) body.remove_prefix(1);
  uint64_t code = 0;
  const auto [end, error] = std::from_chars(body.data(), body.data() + body.size(), code, base);
  if (end != body.data() + body.size() || body.empty()) return false;
  const std::u32string character = numeric_reference(error == std::errc() && code <= 0x10ffff ? uint32_t(code) : 0);
  if (character == U";") return false;
  out += character;
  return true;
}

std::u32string unescape_html(const std::u32string& text) {
  std::u32string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    if (text[i] == U'&') {
      size_t end = i + 1;
      if (end < text.size() && text[end] == U'#') ++end;
      const size_t first = end;
      while (end < text.size() && end - first < 24 && (is_ascii_digit(text[end]) || is_ascii_letter(text[end]))) ++end;
      if (end > first && end < text.size() && text[end] == U';' &&
          expand_reference(encode_utf8(std::u32string_view(text).substr(i + 1, end - i - 1)), out)) {
        i = end + 1;
        continue;
      }
    }
    out.push_back(text[i++]);
  }
  return out;
}

// The fixes of single characters: C1 controls, ligatures, widths, quotes; in this order, so that a quote that was a control or a full-width
// form is straightened, too.
std::u32string fix_characters(const std::u32string& text) {
  std::u32string out;
  out.reserve(text.size());
  for (char32_t c : text) {
    if (c >= 0x80 && c <= 0x9f) c = windows_1252[c - 0x80];
    if (const std::u32string_view letters = ligature(c); !letters.empty()) {
      out += letters;
    } else if (c >= 0xff01 && c <= 0xffef) {
      for (const char32_t w : ordinary_widths()[c - 0xff01]) out.push_back(straight_quote(w));
    } else {
      out.push_back(c == 0x3000 ? U' ' : straight_quote(c));
    }
  }
  return out;
}

std::u32string fix_line_breaks(const std::u32string& text) {
  std::u32string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == U'\r' && i + 1 < text.size() && text[i + 1] == U'\n') continue;
    const bool line_break = text[i] == U'\r' || text[i] == 0x2028 || text[i] == 0x2029 || text[i] == 0x85;
    out.push_back(line_break ? U'\n' : text[i]);
  }
  return out;
}

// ESC [ digits-and-semicolons letter. Digits of every script count, like \d in Python.
std::u32string remove_terminal_escapes(const std::u32string& text) {
  std::u32string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    if (text[i] == 0x1b && i + 1 < text.size() && text[i + 1] == U'[') {
      size_t end = i + 2;
      while (end < text.size() && (text[end] == U';' || is_decimal_digit(text[end]))) ++end;
      if (end < text.size() && is_ascii_letter(text[end])) {
        i = end + 1;
        continue;
      }
    }
    out.push_back(text[i++]);
  }
  return out;
}

std::u32string remove_control_characters(std::u32string text) {
  std::erase_if(text, is_removed_control);
  return text;
}

std::u32string fix_line(std::u32string text, bool unescape) {
  while (true) {
    std::u32string fixed = unescape ? unescape_html(text) : text;
    fixed = nfc(remove_control_characters(remove_terminal_escapes(fix_line_breaks(fix_characters(fixed)))));
    if (fixed == text) return text;
    text = std::move(fixed);
  }
}

}  // namespace

std::u32string fix_text(std::u32string_view text) {
  constexpr size_t longest_line = 1'000'000;  // ftfy's max_decode_length
  std::u32string out;
  bool unescape = true;
  for (size_t begin = 0; begin < text.size();) {
    const size_t newline = text.find(U'\n', begin);
    const size_t length = std::min((newline == std::u32string_view::npos ? text.size() : newline + 1) - begin, longest_line);
    const std::u32string_view line = text.substr(begin, length);
    if (line.find(U'<') != std::u32string_view::npos) unescape = false;
    out += fix_line(std::u32string(line), unescape);
    begin += length;
  }
  return out;
}

}  // namespace hearth::text
