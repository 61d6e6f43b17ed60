#include "text/prompt/words.h"

#include <charconv>
#include <limits>
#include <string>

#include "core/text/utf8.h"
#include "text/unicode.h"

namespace hearth::text {
namespace {

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

bool is_python_word(char32_t c) { return c == '_' || is_letter(c) || is_numeric(c) || is_digit(c); }

size_t find_whole_word(std::u32string_view text, std::u32string_view word, size_t begin) {
  for (size_t at = text.find(word, begin); at != text.npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool starts = at == 0 || !is_python_word(text[at - 1]), ends = end == text.size() || !is_python_word(text[end]);
    if (starts && ends) return at;
  }
  return text.npos;
}

std::u32string_view strip_python(std::u32string_view text) {
  while (!text.empty() && is_python_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_python_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string lowered_and_stripped(std::string_view text) { return encode_utf8(strip_python(lower(decode_utf8(text)))); }

std::optional<double> python_float(std::u32string_view text) {
  std::string s;
  for (const char32_t c : strip_python(text)) {
    if (c > 0x7e || c < 0x21) return std::nullopt;
    if (!(c < 0x80 && (is_ascii_digit(char(c)) || std::string_view("+-._eEinfatyINFATY").find(char(c)) != std::string_view::npos)))
      return std::nullopt;
    s += char(c);
  }
  const bool negative = !s.empty() && s[0] == '-';
  if (!s.empty() && (s[0] == '+' || s[0] == '-')) s.erase(0, 1);
  std::string digits;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '_') digits += s[i];
    else if (i == 0 || i + 1 == s.size() || !is_ascii_digit(s[i - 1]) || !is_ascii_digit(s[i + 1])) return std::nullopt;
  }
  if (digits.empty() || digits[0] == '+' || digits[0] == '-') return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (end != digits.data() + digits.size() || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) {  // Python: too large is infinite, too small zero
    const size_t e = digits.find_first_of("eE");
    const bool small = e != digits.npos && e + 1 < digits.size() && digits[e + 1] == '-';
    value = small ? 0 : std::numeric_limits<double>::infinity();
  }
  return negative ? -value : value;
}

}  // namespace hearth::text
