#include "text/template/values/printing.h"

#include <charconv>
#include <cmath>

#include "core/text/utf8.h"
#include "text/template/loop.h"
#include "text/template/values/operations.h"
#include "text/unicode.h"

namespace hearth::text::jinja {

namespace {

// Python's str.isprintable for one character.
bool is_printable(char32_t c) {
  if (c == ' ') return true;
  return !is_other(c) && !is_space_separator(c) && c != 0x2028 && c != 0x2029;
}

class Writer {
 public:
  void value(const Value& v) {
    count_steps();
    const Deeper deeper;
    switch (v.kind()) {
      case Kind::undefined: return add("Undefined");
      case Kind::none: return add("None");
      case Kind::boolean: return add(v.boolean() ? "True" : "False");
      case Kind::integer: return add(fmt::format("{}", v.integer()));
      case Kind::wide: return add(v.text());
      case Kind::real: return add(repr_real(v.real()));
      case Kind::text: return v.is_safe() ? add(fmt::format("Markup({})", repr_text(v.text()))) : add(repr_text(v.text()));
      case Kind::list: return sequence("[", v.items(), "]");
      case Kind::tuple: return sequence("(", v.items(), v.items().size() == 1 ? ",)" : ")");
      case Kind::dict: return dict(v.entries());
      case Kind::view: return view(v);
      case Kind::range: return range(v.as<RangeObject>());
      case Kind::slice: return slice(v.as<SliceObject>());
      case Kind::iterator: return add(fmt::format("<{} object>", v.type_name()));
      case Kind::function: return function(v.as<FunctionObject>());
      case Kind::space:
        add("<Namespace ");
        dict(v.as<SpaceObject>().entries);
        return add(">");
      case Kind::loop: return add(v.as<LoopObject>().repr());
    }
  }

  std::string text;

 private:
  void add(std::string_view s) {
    count_steps(s.size() / 256);
    text += s;
    expect_bytes(text.size());
  }

  void sequence(std::string_view open, const List& items, std::string_view close) {
    add(open);
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) add(", ");
      value(items[i]);
    }
    add(close);
  }

  void dict(const Dict& dict) {
    add("{");
    bool first = true;
    for (const auto& [key, entry] : dict.entries()) {
      if (!first) add(", ");
      first = false;
      value(key);
      add(": ");
      value(entry);
    }
    add("}");
  }

  void view(const Value& v) {
    add(v.type_name() + "(");
    sequence("[", to_list(v), "]");
    add(")");
  }

  void range(const RangeObject& r) {
    add(r.step == 1 ? fmt::format("range({}, {})", r.start, r.stop) : fmt::format("range({}, {}, {})", r.start, r.stop, r.step));
  }

  void slice(const SliceObject& s) { sequence("slice(", {s.start, s.stop, s.step}, ")"); }

  void function(const FunctionObject& f) {
    if (f.type_name == "Macro") add(fmt::format("<Macro {}>", f.name.empty() ? "anonymous" : repr_text(f.name)));
    else add(fmt::format("<{} {}>", f.type_name, f.name));
  }
};

}  // namespace

std::string repr_text(std::string_view utf8) {
  const bool has_single = utf8.find('\'') != std::string_view::npos, has_double = utf8.find('"') != std::string_view::npos;
  const char32_t quote = has_single && !has_double ? '"' : '\'';
  std::string out(1, char(quote));
  for (const char32_t c : decode_utf8(utf8)) {
    if (c == quote || c == '\\') (out += '\\') += char(c);
    else if (c == '\n') out += "\\n";
    else if (c == '\r') out += "\\r";
    else if (c == '\t') out += "\\t";
    else if (is_printable(c)) append_utf8(out, c);
    else if (c < 0x100) out += fmt::format("\\x{:02x}", uint32_t(c));
    else if (c < 0x10000) out += fmt::format("\\u{:04x}", uint32_t(c));
    else out += fmt::format("\\U{:08x}", uint32_t(c));
  }
  return out += char(quote);
}

std::string repr_real(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  const std::string scientific(buffer, end);  // -d.ddde±xx
  const size_t e = scientific.find('e');
  const int exponent = std::stoi(scientific.substr(e + 1));
  if (exponent < -4 || exponent >= 16) return scientific;
  const bool negative = scientific[0] == '-';
  std::string digits = scientific.substr(negative, e - size_t(negative));
  if (digits.size() > 1) digits.erase(1, 1);
  const char* sign = negative ? "-" : "";
  if (exponent < 0) return fmt::format("{}0.{}{}", sign, std::string(size_t(-exponent - 1), '0'), digits);
  const size_t whole = size_t(exponent) + 1;
  if (digits.size() <= whole) return fmt::format("{}{}{}.0", sign, digits, std::string(whole - digits.size(), '0'));
  return fmt::format("{}{}.{}", sign, digits.substr(0, whole), digits.substr(whole));
}

std::string repr(const Value& value) {
  Writer writer;
  writer.value(value);
  return std::move(writer.text);
}

std::string str(const Value& value) {
  if (value.is_text()) return value.text();
  if (value.is_undefined()) return "";
  return repr(value);
}

}  // namespace hearth::text::jinja
