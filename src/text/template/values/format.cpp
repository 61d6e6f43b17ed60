#include "text/template/values/format.h"

#include "text/template/values/operations.h"
#include "text/template/values/printing.h"
#include "text/template/values/python_text.h"

namespace hearth::text::jinja {

namespace {

[[noreturn]] void refuse_format(std::string_view format) { throw Unsupported{fmt::format("the format {}", repr_text(format))}; }

// An integer, not as bool prints itself.
std::string decimal(const Value& v) { return v.is(Kind::wide) ? v.text() : fmt::format("{}", v.integer()); }

std::string percent_decimal(const Value& v, const std::string& format) {
  if (v.is_undefined()) fail_undefined(v);
  if (v.is_integer() || v.is(Kind::wide)) return decimal(v);
  if (v.is(Kind::real)) throw Unsupported{fmt::format("the format '{}' of a float", format)};
  refuse(Failure::type, "{} format: a real number is required, not {}", format, v.type_name());
}

// {…} of str.format, without the braces.
class Fields {
 public:
  explicit Fields(const Arguments& arguments) : arguments_(arguments) {}

  const Value& argument(std::string_view name) {
    if (name.find_first_not_of("0123456789") != std::string_view::npos) return named(name);
    const bool automatic = name.empty();
    if (automatic ? numbered_ : next_ > 0) refuse(Failure::value, "cannot switch between automatic and manual field numbering");
    numbered_ = !automatic;
    const size_t i = automatic ? next_++ : name.size() > 9 ? arguments_.positional.size() : size_t(std::stoll(std::string(name)));
    if (i >= arguments_.positional.size()) refuse(Failure::value, "Replacement index {} out of range for positional args tuple", i);
    return arguments_.positional[i];
  }

 private:
  const Value& named(std::string_view name) const {
    for (const auto& [key, value] : arguments_.named)
      if (key == name) return value;
    refuse(Failure::value, "{}", repr_text(name));
  }

  const Arguments& arguments_;
  size_t next_ = 0;
  bool numbered_ = false;
};

}  // namespace

Value format_percent(const Value& text, const Value& arguments) {
  const std::string& format = text.text();
  const bool tuple = arguments.is(Kind::tuple);
  const List all = tuple ? arguments.items() : List{arguments};
  size_t used = 0;
  std::string out;
  for (size_t at = 0; at < format.size();) {
    const size_t percent = std::min(format.find('%', at), format.size());
    out.append(format, at, percent - at);
    at = percent + 2;
    if (percent == format.size()) break;
    if (percent + 1 == format.size()) refuse(Failure::value, "incomplete format");
    const std::string conversion = format.substr(percent, byte_of(std::string_view(format).substr(percent), 2));
    if (conversion == "%%") {
      out += '%';
      continue;
    }
    const bool is_decimal = conversion == "%d" || conversion == "%i";
    if (!is_decimal && conversion != "%s" && conversion != "%r") refuse_format(conversion);
    if (used == all.size()) refuse(Failure::type, "not enough arguments for format string");
    const Value& v = all[used++];
    const std::string piece = is_decimal ? percent_decimal(v, conversion) : conversion == "%s" ? str(v) : repr(v);
    out += text.is_safe() && !(conversion == "%s" && v.is_safe()) ? escape_html(piece) : piece;
    expect_bytes(out.size());
  }
  const bool mapping = arguments.is_dict() || arguments.is(Kind::list) || arguments.is_undefined() || arguments.is(Kind::range);
  if (used < all.size() && (tuple || !mapping)) refuse(Failure::type, "not all arguments converted during string formatting");
  return Value(std::move(out), text.is_safe());
}

Value format_braces(const Value& text, const Arguments& arguments) {
  const std::string& format = text.text();
  Fields fields(arguments);
  std::string out;
  for (size_t at = 0; at < format.size();) {
    const size_t brace = std::min(format.find_first_of("{}", at), format.size());
    out.append(format, at, brace - at);
    at = brace;
    if (at == format.size()) break;
    if (at + 1 < format.size() && format[at + 1] == format[at]) {
      out += format[at];
      at += 2;
      continue;
    }
    if (format[at] == '}') refuse(Failure::value, "Single '}}' encountered in format string");
    const size_t end = format.find('}', at);
    if (end == std::string::npos) refuse(Failure::value, "expected '}}' before end of string");
    const std::string field = format.substr(at + 1, end - at - 1), name = field.substr(0, field.find(':'));
    const std::string specification = field.substr(std::min(name.size() + 1, field.size()));
    if (name.find_first_of("!.[{") != std::string::npos || (!specification.empty() && specification != "d"))
      refuse_format(format.substr(at, end + 1 - at));
    const Value& v = fields.argument(name);
    if (!specification.empty() && !v.is_integer() && !v.is(Kind::wide))
      refuse(Failure::value, "Unknown format code 'd' for object of type '{}'", v.type_name());
    const std::string piece = specification.empty() ? str(v) : decimal(v);
    out += text.is_safe() && !v.is_safe() ? escape_html(piece) : piece;
    at = end + 1;
    expect_bytes(out.size());
  }
  return Value(std::move(out), text.is_safe());
}

}  // namespace hearth::text::jinja
