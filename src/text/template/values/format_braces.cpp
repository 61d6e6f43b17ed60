// text.format(…) and the specification of one field.
#include <charconv>
#include <cmath>

#include "core/text/utf8.h"
#include "text/template/values/format.h"
#include "text/template/values/operations.h"
#include "text/template/values/printing.h"
#include "text/template/values/python_text.h"

namespace hearth::text::jinja {

namespace {

constexpr int64_t max_width = int64_t(1) << 31;

bool is_align(char c) { return c == '<' || c == '>' || c == '=' || c == '^'; }

struct Specification {
  std::string fill = " ";
  char align = 0, sign = '-', type = 0, grouping = 0;
  bool alternate = false, zero = false;
  int64_t width = 0;
  std::optional<int64_t> precision;
};

int64_t read_count(std::string_view s, size_t& at) {
  int64_t n = 0;
  while (at < s.size() && s[at] >= '0' && s[at] <= '9') {
    n = n * 10 + (s[at++] - '0');
    if (n > max_width) refuse(Failure::value, "Too many decimal digits in format string");
  }
  return n;
}

Specification read_specification(std::string_view s, const Value& value) {
  Specification f;
  size_t at = 0;
  const size_t first = s.empty() ? 0 : byte_of(s, 1);
  if (first < s.size() && is_align(s[first])) {
    f.fill = s.substr(0, first);
    f.align = s[first];
    at = first + 1;
  } else if (!s.empty() && is_align(s[0])) {
    f.align = s[at++];
  }
  if (at < s.size() && (s[at] == '+' || s[at] == '-' || s[at] == ' ')) f.sign = s[at++];
  if (at < s.size() && s[at] == 'z') ++at;
  if (at < s.size() && s[at] == '#') f.alternate = ++at > 0;
  if (at < s.size() && s[at] == '0') {
    f.zero = ++at > 0;
    if (f.align == 0) {
      f.fill.assign(1, '0');
      f.align = value.is_number() ? '=' : 0;
    }
  }
  f.width = read_count(s, at);
  if (at < s.size() && (s[at] == ',' || s[at] == '_')) f.grouping = s[at++];
  if (at < s.size() && s[at] == '.') {
    const size_t start = ++at;
    f.precision = read_count(s, at);
    if (at == start) refuse(Failure::value, "Format specifier missing precision");
  }
  if (s.size() - at > 1) refuse(Failure::value, "Invalid format specifier '{}' for object of type '{}'", s, value.type_name());
  if (at < s.size()) f.type = s[at];
  return f;
}

[[noreturn]] void unknown_code(char type, const Value& value) {
  refuse(Failure::value, "Unknown format code '{}' for object of type '{}'", type, value.type_name());
}

std::string aligned(const std::string& head, const std::string& body, const Specification& f, char otherwise) {
  const char align = f.align ? f.align : otherwise;
  if (align == '=') return head + padded(body, f.width - int64_t(head.size()), f.fill, Side::left);
  if (align == '^') {
    const std::string text = head + body;  // the odd one to the right, unlike str.center
    const int64_t missing = std::max<int64_t>(f.width - int64_t(count_characters(text)), 0);
    return padded(padded(text, f.width - (missing + 1) / 2, f.fill, Side::left), f.width, f.fill, Side::right);
  }
  return padded(head + body, f.width, f.fill, align == '<' ? Side::right : Side::left);
}

std::string grouped(const std::string& digits, char separator, size_t group) {
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % group == 0) out += separator;
    out += digits[i];
  }
  return out;
}

std::string sign_of(bool negative, char sign) { return negative ? "-" : sign == '-' ? "" : std::string(1, sign); }

std::string format_float(double x, const Specification& f, const Value& value);

std::string format_integer(const Value& value, const Specification& f) {
  const int64_t n = value.integer();
  const uint64_t size = n < 0 ? 0 - uint64_t(n) : uint64_t(n);
  std::string digits, prefix;
  switch (f.type) {
    case 0:
    case 'n':
    case 'd': digits = fmt::format("{}", size); break;
    case 'x': digits = fmt::format("{:x}", size); break;
    case 'X': digits = fmt::format("{:X}", size); break;
    case 'o': digits = fmt::format("{:o}", size); break;
    case 'b': digits = fmt::format("{:b}", size); break;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case '%': return format_float(double(n), f, value);
    default: unknown_code(f.type, value);
  }
  if (f.precision) refuse(Failure::value, "Precision not allowed in integer format specifier");
  const bool decimal = f.type == 0 || f.type == 'd' || f.type == 'n';
  if (f.alternate && !decimal) prefix = fmt::format("0{}", f.type);
  if (f.grouping) digits = grouped(digits, f.grouping, decimal ? 3 : 4);
  return aligned(sign_of(n < 0, f.sign) + prefix, digits, f, '>');
}

std::string format_float(double x, const Specification& f, const Value& value) {
  const double size = std::abs(x);
  std::string digits;
  expect_bytes(size_t(f.precision.value_or(0)));
  const int precision = int(f.precision.value_or(6));
  switch (f.type) {
    case 0:
      digits = f.precision ? format_real(size, 'g', precision, f.alternate) : repr_real(size);
      // Without a type there is always a digit behind the point, unless an exponent is.
      if (f.precision && std::isfinite(size) && digits.find_first_of(".e") == std::string::npos) digits += ".0";
      break;
    case 'n': digits = format_real(size, 'g', precision, f.alternate); break;
    case '%': digits = format_real(size * 100, 'f', precision, f.alternate) + "%"; break;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G': digits = format_real(size, f.type, precision, f.alternate); break;
    default: unknown_code(f.type, value);
  }
  if (f.grouping && std::isfinite(size)) {
    const size_t end = std::min(digits.find_first_not_of("0123456789"), digits.size());
    digits = grouped(digits.substr(0, end), f.grouping, 3) + digits.substr(end);
  }
  return aligned(sign_of(std::signbit(x), f.sign), digits, f, '>');
}

std::string format_text(const Value& value, const Specification& f) {
  if (f.type != 0 && f.type != 's') unknown_code(f.type, value);
  if (f.sign != '-') refuse(Failure::value, "Sign not allowed in string format specifier");
  if (f.align == '=') refuse(Failure::value, "'=' alignment not allowed in string format specifier");
  std::string text = value.text();
  if (f.precision) text = text.substr(0, byte_of(text, size_t(*f.precision)));
  return aligned("", text, f, '<');
}

class Braces {
 public:
  Braces(const Arguments& arguments, bool safe) : arguments_(arguments), safe_(safe) {}

  std::string run(std::string_view format, int depth) {
    if (depth < 0) refuse(Failure::value, "Max string recursion exceeded");
    std::string out;
    for (size_t at = 0; at < format.size();) {
      const char c = format[at];
      if (c != '{' && c != '}') {
        const size_t next = std::min(format.find_first_of("{}", at), format.size());
        out += format.substr(at, next - at);
        at = next;
      } else if (at + 1 < format.size() && format[at + 1] == c) {
        out += c;
        at += 2;
      } else if (c == '}') {
        refuse(Failure::value, "Single '}}' encountered in format string");
      } else {
        const size_t end = field_end(format, at + 1);
        out += field(format.substr(at + 1, end - at - 1), depth);
        at = end + 1;
      }
      expect_bytes(out.size());
    }
    return out;
  }

 private:
  static size_t field_end(std::string_view format, size_t at) {
    if (at >= format.size()) refuse(Failure::value, "Single '{{' encountered in format string");
    int open = 1;
    for (; at < format.size(); ++at) {
      if (format[at] == '{') ++open;
      if (format[at] == '}' && --open == 0) return at;
    }
    refuse(Failure::value, "expected '}}' before end of string");
  }

  std::string field(std::string_view text, int depth) {
    size_t name_end = 0;
    for (bool bracket = false; name_end < text.size(); ++name_end) {
      if (text[name_end] == '[') bracket = true;
      if (text[name_end] == ']') bracket = false;
      if (!bracket && (text[name_end] == ':' || text[name_end] == '!')) break;
    }
    Value v = resolve(text.substr(0, name_end));
    text.remove_prefix(name_end);
    if (text.starts_with('!')) {
      if (text.size() < 2 || (text.size() > 2 && text[2] != ':')) refuse(Failure::value, "expected ':' after conversion specifier");
      switch (text[1]) {
        case 's': v = Value(str(v)); break;
        case 'r': v = Value(repr(v)); break;
        default: refuse(Failure::value, "Unknown conversion specifier '{}'", text[1]);
      }
      text.remove_prefix(2);
    }
    const std::string specification = text.empty() ? "" : run(text.substr(1), depth - 1);
    const std::string result = format_value(v, specification);
    return safe_ && !v.is_safe() ? escape_html(result) : result;
  }

  Value resolve(std::string_view name) {
    const size_t end = std::min(name.find_first_of(".["), name.size());
    const std::string_view first = name.substr(0, end);
    Value v = first.empty() || first.find_first_not_of("0123456789") == std::string_view::npos ? positional(first) : named(first);
    for (std::string_view rest = name.substr(end); !rest.empty();) {
      if (rest[0] == '.') {
        const size_t stop = std::min(rest.find_first_of(".[", 1), rest.size());
        if (stop == 1) refuse(Failure::value, "Empty attribute in format string");
        v = attribute(v, rest.substr(1, stop - 1));
        rest.remove_prefix(stop);
      } else if (rest[0] == '[') {
        const size_t close = rest.find(']');
        if (close == std::string_view::npos) refuse(Failure::value, "Missing ']' in format string");
        const std::string_view key = rest.substr(1, close - 1);
        if (key.empty()) refuse(Failure::value, "Empty attribute in format string");
        const bool number = key.find_first_not_of("0123456789") == std::string_view::npos && key.size() < 18;
        v = element(v, number ? Value(int64_t(std::stoll(std::string(key)))) : Value(key));
        rest.remove_prefix(close + 1);
      } else {
        refuse(Failure::value, "Only '.' or '[' may follow ']' in format field specifier");
      }
    }
    return v;
  }

  Value positional(std::string_view number) {
    const bool automatic = number.empty();
    if (automatic ? manual_ : next_ > 0) {
      refuse(Failure::value, "cannot switch from {} field {} to {} field {}", automatic ? "manual" : "automatic",
             automatic ? "specification" : "numbering", automatic ? "automatic" : "manual", automatic ? "numbering" : "specification");
    }
    size_t i = next_;
    if (automatic) {
      ++next_;
    } else {
      manual_ = true;
      i = number.size() > 9 ? arguments_.positional.size() : size_t(std::stoll(std::string(number)));
    }
    if (i >= arguments_.positional.size()) refuse(Failure::value, "Replacement index {} out of range for positional args tuple", i);
    return arguments_.positional[i];
  }

  Value named(std::string_view name) const {
    for (const auto& [key, value] : arguments_.named)
      if (key == name) return value;
    refuse(Failure::value, "{}", repr_text(name));
  }

  const Arguments& arguments_;
  bool safe_, manual_ = false;
  size_t next_ = 0;
};

}  // namespace

std::string format_real(double value, char type, int precision, bool alternate) {
  if (!std::isfinite(value)) {
    const char* name = std::isnan(value) ? "nan" : "inf";
    return type >= 'a' ? name : upper(name);
  }
  const char lower_type = char(type | 0x20);
  const auto form = lower_type == 'f'   ? std::chars_format::fixed
                    : lower_type == 'e' ? std::chars_format::scientific
                                        : std::chars_format::general;
  if (lower_type == 'g' && precision == 0) precision = 1;
  std::string buffer(size_t(precision) + 400, ' ');
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, form, precision).ptr;
  buffer.resize(size_t(end - buffer.data()));
  if (alternate && lower_type != 'g' && precision == 0) buffer.insert(std::min(buffer.find('e'), buffer.size()), 1, '.');
  return type >= 'a' ? buffer : upper(buffer);
}

std::string format_value(const Value& value, std::string_view specification) {
  if (specification.empty()) return str(value);
  if (value.is_integer()) return format_integer(value, read_specification(specification, value));
  if (value.is(Kind::real)) return format_float(value.real(), read_specification(specification, value), value);
  if (value.is_text()) return format_text(value, read_specification(specification, value));
  refuse(Failure::type, "unsupported format string passed to {}.__format__", value.type_name());
}

Value format_braces(const Value& text, const Arguments& arguments) {
  return Value(Braces(arguments, text.is_safe()).run(text.text(), 1), text.is_safe());
}

}  // namespace hearth::text::jinja
