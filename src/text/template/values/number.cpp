#include "text/template/values/number.h"

#include <charconv>
#include <cmath>

#include "text/template/values/operations.h"
#include "text/template/values/python_text.h"

namespace hearth::text::jinja {

namespace {

// Without its underscores, which may only stand between digits; nothing where they stand elsewhere.
std::optional<std::string> without_underscores(std::string_view text) {
  const auto is_digit = [&](size_t i) { return i < text.size() && std::isalnum(static_cast<unsigned char>(text[i])); };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') out += text[i];
    else if (i == 0 || !is_digit(i - 1) || !is_digit(i + 1)) return {};
  }
  return out;
}

}  // namespace

std::optional<int64_t> parse_integer(std::string_view text) {
  text = strip(text);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const auto digits = without_underscores(text);
  if (!digits || digits->empty() || (*digits)[0] == '-') return {};
  const std::string signed_digits = (negative ? "-" : "") + *digits;
  const char* end = signed_digits.data() + signed_digits.size();
  int64_t value = 0;
  const auto [stop, error] = std::from_chars(signed_digits.data(), end, value);
  if (stop != end) return {};
  if (error == std::errc::result_out_of_range) too_wide();
  return value;
}

std::optional<double> parse_real(std::string_view text) {
  const auto digits = without_underscores(strip(text));
  if (!digits) return {};
  std::string_view s = *digits;
  const bool negative = s.starts_with('-');
  if (negative || s.starts_with('+')) s.remove_prefix(1);
  const std::string word = lower(s);
  double value = 0;
  if (word == "inf" || word == "infinity") {
    value = HUGE_VAL;
  } else if (word == "nan") {
    value = std::nan("");
  } else {
    if (s.empty() || !(std::isdigit(static_cast<unsigned char>(s[0])) || s[0] == '.')) return {};
    const auto [stop, error] = std::from_chars(s.data(), s.data() + s.size(), value);
    if (stop != s.data() + s.size()) return {};
    if (error == std::errc::result_out_of_range) value = std::strtod(std::string(s).c_str(), nullptr);
    else if (error != std::errc()) return {};
  }
  return negative ? -value : value;
}

double round_real(double value, int64_t digits) {
  if (!std::isfinite(value) || digits > 330) return value;
  // The decimal digits of the exact value, correctly rounded: what Python does too.
  char text[700];
  const char* end = std::to_chars(text, text + sizeof text, std::abs(value), std::chars_format::fixed, int(digits)).ptr;
  double result = 0;
  std::from_chars(text, end, result);
  return std::copysign(result, value);
}

}  // namespace hearth::text::jinja
