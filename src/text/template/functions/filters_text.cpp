// Filters whose input is printed first: trim, replace, indent, tojson ….
#include <map>

#include "core/text/utf8.h"
#include "text/template/functions/arguments.h"
#include "text/template/functions/functions.h"
#include "text/template/values/format.h"
#include "text/template/values/json.h"
#include "text/template/values/operations.h"
#include "text/template/values/pretty.h"
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
Value force_escaped(const Value& input) { return Value(escape_html(str(input)), true); }

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

Value truncate(const Value& input, Arguments& arguments) {
  const Bound a("truncate", arguments, {"length", "killwords", "end", "leeway"}, 0);
  const int64_t size = length(input), wanted = a.integer(0, 255), leeway = a.is_none(3) ? 5 : a.integer(3, 5);
  const std::string end = a.text(2, "...");
  const auto end_size = int64_t(count_characters(end));
  if (wanted < end_size) refuse(Failure::value, "expected length >= {}, got {}", end_size, wanted);
  if (leeway < 0) refuse(Failure::value, "expected leeway >= 0, got {}", leeway);
  if (size <= wanted || size - leeway <= wanted) return input;
  if (!input.is_text()) refuse(Failure::type, "truncate needs a str, got '{}'", input.type_name());
  std::string_view kept = characters(input, 0, size_t(wanted - end_size));
  if (!a.truth(1, false)) kept = kept.substr(0, kept.rfind(' '));
  return Value(std::string(kept) + end, input.is_safe());
}

Value word_count(const Value& input) {
  int64_t words = 0;
  bool inside = false;
  for (const char32_t c : decode_utf8(soft(input).text())) {
    const bool word = is_letter(c) || is_numeric(c) || c == '_';  // Python's \w
    words += word && !inside;
    inside = word;
  }
  return words;
}

Value center(const Value& input, Arguments& arguments) {
  const Bound a("center", arguments, {"width"}, 0);
  const Value text = soft(input);
  return Value(padded(text.text(), a.integer(0, 80), " ", Side::both), text.is_safe());
}

Value format(const Value& input, Arguments& arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty())
    refuse(Failure::runtime, "can't handle positional and keyword arguments at the same time");
  if (arguments.named.empty()) return format_percent(soft(input), Value::tuple(arguments.positional));
  Dict named;
  for (const auto& [name, value] : arguments.named) named.set(Value(name), value);
  return format_percent(soft(input), Value::dict(std::move(named)));
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

Value pretty_print(const Value& input) { return Value(pretty(input)); }

Value default_value(const Value& input, Arguments& arguments) {
  const Bound a("default", arguments, {"default_value", "boolean"}, 0);
  if (input.is_undefined() || (a.truth(1, false) && !truth(input))) return a.has(0) ? a[0] : Value("");
  return input;
}

std::string quote_url(const Value& value, bool in_query) {
  std::string out;
  for (const char c : str(value)) {
    const bool plain = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z' && static_cast<unsigned char>(c) < 0x80) ||
                       c == '_' || c == '.' || c == '-' || c == '~' || (c == '/' && !in_query);
    if (plain) out += c;
    else if (c == ' ' && in_query) out += '+';
    else out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

Value url_encode(const Value& input) {
  if (input.is_text() || !is_iterable(input)) return Value(quote_url(input, false));
  const Value pairs = input.is_dict() ? Value(Kind::view, std::make_shared<ViewObject>(input, ViewObject::Part::items)) : input;
  std::string out;
  const Next next = iterate(pairs);
  for (Value pair; next(pair);) {
    const List parts = to_list(pair);
    if (parts.size() != 2) refuse(Failure::value, "not enough values to unpack (expected 2, got {})", parts.size());
    out += fmt::format("{}{}={}", out.empty() ? "" : "&", quote_url(parts[0], true), quote_url(parts[1], true));
    expect_bytes(out.size());
  }
  return Value(std::move(out));
}

}  // namespace

FilterFunction find_text_filter(std::string_view name) {
  static const std::map<std::string_view, FilterFunction> filters = {
      {"capitalize", changed<capitalize>},
      {"center", center},
      {"d", default_value},
      {"default", default_value},
      {"e", alone<escaped>},
      {"escape", alone<escaped>},
      {"forceescape", alone<force_escaped>},
      {"format", format},
      {"indent", indent},
      {"lower", changed<lower>},
      {"pprint", alone<pretty_print>},
      {"replace", replace_all},
      {"safe", alone<safe>},
      {"string", alone<string>},
      {"title", alone<title_filter>},
      {"tojson", to_json},
      {"trim", trim},
      {"truncate", truncate},
      {"upper", changed<upper>},
      {"urlencode", alone<url_encode>},
      {"wordcount", alone<word_count>},
  };
  const auto it = filters.find(name);
  return it == filters.end() ? nullptr : it->second;
}

}  // namespace hearth::text::jinja
