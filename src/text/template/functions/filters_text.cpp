// Filters whose input is printed first: trim, replace, indent, tojson ….
#include <map>

#include "core/text/utf8.h"
#include "text/template/functions/arguments.h"
#include "text/template/functions/functions.h"
#include "text/template/values/format.h"
#include "text/template/values/json.h"
#include "text/template/values/operations.h"
#include "text/template/values/printing.h"
#include "text/template/values/python_text.h"
#include "text/unicode.h"

namespace hearth::text::jinja {

namespace {

// The input as a text; Markup stays Markup.
Value soft(const Value& input) {
  if (input.is_text()) {
    count_steps(input.text().size() / 64);
    return input;
  }
  return Value(str(input));
}

template <std::string (*change)(std::string_view)> Value changed(const Value& input, Arguments& arguments) {
  const Bound a("filter", arguments, {}, 0);
  const Value text = soft(input);
  expect_bytes(4 * text.text().size());
  return Value(change(text.text()), text.is_safe());
}

Value trim(const Value& input, Arguments& arguments) {
  const Bound a("trim", arguments, {"chars"}, 0);
  const Value text = soft(input);
  std::optional<std::string> characters;
  if (!a.is_none(0)) characters = a.text(0, "");
  return Value(std::string(strip(text.text(), Side::both, characters)), text.is_safe());
}

Value replace_all(const Value& input, Arguments& arguments) {
  const Bound a("replace", arguments, {"old", "new", "count"}, 2);
  const int64_t limit = a.is_none(2) ? -1 : a.integer(2, -1);
  return Value(replace(soft(input).text(), str(a[0]), str(a[1]), limit));
}

Value string(const Value& input) { return soft(input); }
Value safe(const Value& input) { return Value(str(input), true); }
Value escaped(const Value& input) { return escape(input); }

// The first letter of each word and the rest of it; words begin behind blanks and - ( { [ <.
std::string title_words(std::string_view text) {
  const auto separates = [](char32_t c) {
    return is_python_space(c) || std::u32string_view(U"-({[<").find(c) != std::u32string_view::npos;
  };
  const std::u32string wide = decode_utf8(text);
  std::string out;
  for (size_t i = 0; i < wide.size();) {
    const bool separator = separates(wide[i]);
    size_t end = i;
    while (end < wide.size() && separates(wide[end]) == separator) ++end;
    const std::u32string word = wide.substr(i, end - i);
    out += separator ? encode_utf8(word) : encode_utf8(text::upper(word.substr(0, 1)) + text::lower(word.substr(1)));
    i = end;
  }
  return out;
}

Value title_filter(const Value& input) { return Value(title_words(soft(input).text())); }

Value indent(const Value& input, Arguments& arguments) {
  const Bound a("indent", arguments, {"width", "first", "blank"}, 0);
  std::string indention;
  if (a.has(0) && a[0].is_text()) {
    indention = a[0].text();
  } else {
    const int64_t width = a.integer(0, 4);
    expect_bytes(size_t(std::max<int64_t>(width, 0)));
    indention.assign(size_t(std::max<int64_t>(width, 0)), ' ');
  }
  if (input.is_undefined()) fail_undefined(input);
  if (input.is(Kind::list)) refuse(Failure::value, "'list' object has no attribute 'splitlines'");
  if (!input.is_text()) refuse(Failure::type, "unsupported operand type(s) for +=: '{}' and 'str'", input.type_name());
  const bool blank = a.truth(2, false);
  const std::string text = input.text() + "\n";
  std::string out = a.truth(1, false) ? indention : "";
  bool first = true;
  for (const std::string_view line : split_lines(text)) {
    if (!first) {
      out += '\n';
      if (blank || !line.empty()) out += indention;
    }
    first = false;
    out += line;
    expect_bytes(out.size());
  }
  return Value(std::move(out), input.is_safe());
}

Value format(const Value& input, Arguments& arguments) {
  if (!arguments.named.empty()) throw Unsupported{"the filter 'format' with named arguments"};
  return format_percent(soft(input), Value::tuple(arguments.positional));
}

Value to_json(const Value& input, Arguments& arguments) {
  const Bound a("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"}, 0);
  JsonStyle style{.escape_unicode = a.truth(0, false), .sort_keys = a.truth(3, false)};
  if (!a.is_none(1)) {
    if (a[1].is_text()) style.indent = a[1].text();
    else style.indent = std::string(size_t(std::clamp<int64_t>(as_index(a[1]), 0, 1'000'000)), ' ');
  }
  if (!a.is_none(2)) {
    const List parts = to_list(a[2]);
    if (parts.size() != 2 || !parts[0].is_text() || !parts[1].is_text())
      refuse(Failure::value, "separators are a pair of texts, got {}", repr(a[2]));
    style.item_separator = parts[0].text();
    style.key_separator = parts[1].text();
  }
  return Value(write_json(input, style));
}

Value default_value(const Value& input, Arguments& arguments) {
  const Bound a("default", arguments, {"default_value", "boolean"}, 0);
  if (input.is_undefined() || (a.truth(1, false) && !truth(input))) return a.has(0) ? a[0] : Value("");
  return input;
}

}  // namespace

FilterFunction find_text_filter(std::string_view name) {
  static const std::map<std::string_view, FilterFunction> filters = {
      {"capitalize", changed<capitalize>},
      {"d", default_value},
      {"default", default_value},
      {"e", alone<escaped>},
      {"escape", alone<escaped>},
      {"format", format},
      {"indent", indent},
      {"lower", changed<lower>},
      {"replace", replace_all},
      {"safe", alone<safe>},
      {"string", alone<string>},
      {"title", alone<title_filter>},
      {"tojson", to_json},
      {"trim", trim},
      {"upper", changed<upper>},
  };
  const auto it = filters.find(name);
  return it == filters.end() ? nullptr : it->second;
}

}  // namespace hearth::text::jinja
