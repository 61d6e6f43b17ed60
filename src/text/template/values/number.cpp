#include "text/template/values/number.h"

#include <charconv>
#include <cmath>

#include "text/template/values/format.h"
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

int prefix_base(char letter) {
  switch (letter | 0x20) {
    case 'x': return 16;
    case 'o': return 8;
    case 'b': return 2;
    default: return 0;
  }
}

}  // namespace

std::optional<int64_t> parse_integer(std::string_view text, int64_t base) {
  if (base != 0 && (base < 2 || base > 36)) return {};
  text = strip(text);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.size() > 2 && text[0] == '0' && prefix_base(text[1]) != 0 && (base == 0 || base == prefix_base(text[1]))) {
    base = prefix_base(text[1]);
    text.remove_prefix(text[2] == '_' ? 3 : 2);
  }
  const bool any_base = base == 0;
  const auto digits = without_underscores(text);
  if (!digits || digits->empty()) return {};
  if (any_base && digits->size() > 1 && (*digits)[0] == '0' && digits->find_first_not_of('0') != std::string::npos) return {};
  int64_t value = 0;
  const std::string signed_digits = (negative ? "-" : "") + *digits;
  const char* end = signed_digits.data() + signed_digits.size();
  if ((*digits)[0] == '-') return {};
  const auto [stop, error] = std::from_chars(signed_digits.data(), end, value, any_base ? 10 : int(base));
  if (stop != end) return {};
  if (error == std::errc::result_out_of_range) refuse(Failure::overflow, "an integer of more than 64 bits");
  if (error != std::errc()) return {};
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
  if (digits < -310) return std::copysign(0.0, value);
  if (digits >= 0) {
    // The decimal digits of the exact value, correctly rounded: what Python does too.
    const auto text = format_real(std::abs(value), 'f', int(digits), false);
    double result = 0;
    std::from_chars(text.data(), text.data() + text.size(), result);
    return std::copysign(result, value);
  }
  const double scale = std::pow(10.0, double(-digits)), scaled = value / scale;
  double result = std::round(scaled);
  if (std::abs(scaled - result) == 0.5) result = 2.0 * std::round(scaled / 2.0);
  return result * scale;
}

Value round_integer(int64_t value, int64_t digits) {
  if (digits >= 0) return value;
  if (digits < -18) return 0;
  int64_t scale = 1;
  for (; digits < 0; ++digits) scale *= 10;
  const int64_t down = value / scale - (value % scale < 0 ? 1 : 0), rest = value - down * scale;
  const bool up = rest > scale - rest || (rest == scale - rest && (down & 1));
  int64_t result = 0;
  if (__builtin_mul_overflow(down + up, scale, &result)) refuse(Failure::overflow, "an integer of more than 64 bits");
  return result;
}

}  // namespace hearth::text::jinja
