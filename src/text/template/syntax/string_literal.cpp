#include "text/template/syntax/string_literal.h"

#include <charconv>

#include "core/text/utf8.h"
#include "text/template/failure.h"

namespace hearth::text::jinja {

namespace {

// `digits` hexadecimal ones from `at` on.
char32_t hexadecimal(std::string_view body, size_t at, size_t digits, std::string_view name) {
  const std::string_view text = body.substr(std::min(at, body.size()), digits);
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.size() < digits || error != std::errc() || end != text.data() + text.size())
    refuse(Failure::syntax, "truncated {} escape", name);
  if (value > 0x10ffff) refuse(Failure::syntax, "illegal Unicode character");
  return value;
}

bool is_octal(char c) { return c >= '0' && c <= '7'; }

}  // namespace

std::string unescape(std::string_view body) {
  std::string out;
  const auto character = [&](char32_t c) {
    if (c >= 0xd800 && c < 0xe000) refuse(Failure::syntax, "\\u{:04x} is half of a surrogate pair", uint32_t(c));
    append_utf8(out, c);
  };
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\' || i + 1 == body.size()) {
      out += body[i];
      continue;
    }
    const char c = body[++i];
    switch (c) {
      case '\n': break;
      case '\\':
      case '\'':
      case '"': out += c; break;
      case 'a': out += '\a'; break;
      case 'b': out += '\b'; break;
      case 'f': out += '\f'; break;
      case 'n': out += '\n'; break;
      case 'r': out += '\r'; break;
      case 't': out += '\t'; break;
      case 'v': out += '\v'; break;
      case 'x':
        character(hexadecimal(body, i + 1, 2, "\\xXX"));
        i += 2;
        break;
      case 'u':
        character(hexadecimal(body, i + 1, 4, "\\uXXXX"));
        i += 4;
        break;
      case 'U':
        character(hexadecimal(body, i + 1, 8, "\\UXXXXXXXX"));
        i += 8;
        break;
      case 'N': refuse(Failure::syntax, "\\N{{…}} escapes are not supported");
      default: {
        if (!is_octal(c)) {
          (out += '\\') += c;
          break;
        }
        uint32_t value = 0;
        size_t n = 0;
        for (; n < 3 && i + n < body.size() && is_octal(body[i + n]); ++n) value = value * 8 + uint32_t(body[i + n] - '0');
        i += n - 1;
        character(value);
      }
    }
  }
  return out;
}

}  // namespace hearth::text::jinja
