// The methods of str. Those of Markup escape what they put in and return Markup.
#include <map>

#include "core/text/utf8.h"
#include "text/template/functions/arguments.h"
#include "text/template/functions/methods.h"
#include "text/template/values/format.h"
#include "text/template/values/operations.h"
#include "text/template/values/printing.h"
#include "text/template/values/python_text.h"
#include "text/unicode.h"

namespace hearth::text::jinja {

namespace {

using Method = Value (*)(const Value& self, const Arguments& arguments);

std::optional<std::string_view> optional_text(const Bound& a, size_t i, std::string_view method) {
  if (a.is_none(i)) return {};
  if (a[i].is_undefined()) fail_undefined(a[i]);
  if (!a[i].is_text()) refuse(Failure::type, "{} arg must be None or str", method);
  return a[i].text();
}

Value strip_sides(const Value& self, const Arguments& arguments, Side side, const char* name) {
  const Bound a(name, arguments, {"chars"}, 0);
  return Value(std::string(strip(self.text(), side, optional_text(a, 0, name))), self.is_safe());
}

Value texts(const std::vector<std::string_view>& pieces, bool safe) {
  List items;
  items.reserve(pieces.size());
  for (const std::string_view piece : pieces) items.emplace_back(std::string(piece), safe);
  return Value::list(std::move(items));
}

template <class Split> Value split_by(const Value& self, const Arguments& arguments, const char* name, Split split_text) {
  const Bound a(name, arguments, {"sep", "maxsplit"}, 0);
  if (!a.is_none(0) && !a[0].is_undefined() && !a[0].is_text()) refuse(Failure::type, "must be str or None, not {}", a[0].type_name());
  const auto separator = optional_text(a, 0, name);
  if (separator && separator->empty()) refuse(Failure::value, "empty separator");
  return texts(split_text(self.text(), separator, a.integer(1, -1)), self.is_safe());
}

// The part of the text that start and end of find, count, startswith … leave, and where it begins.
struct Part {
  std::string_view text;
  int64_t start;
  bool in_range;  // start is not past the end
};

Part part(const Value& self, const Bound& a) {
  const auto size = int64_t(self.characters());
  const auto place = [&](size_t i, int64_t otherwise) {
    if (a.is_none(i)) return otherwise;
    int64_t at = as_index(a[i]);
    if (at < 0) at += size;
    return std::max<int64_t>(at, 0);
  };
  const int64_t start = place(1, 0), end = std::min(place(2, size), size);
  if (start > end) return {"", start, false};
  return {characters(self, size_t(start), size_t(end - start)), start, true};
}

const std::string& needle(const Bound& a, const char* what = "must be str, not {}") {
  if (a[0].is_undefined()) fail_undefined(a[0]);
  if (!a[0].is_text()) refuse(Failure::type, fmt::runtime(what), a[0].type_name());
  return a[0].text();
}

int64_t find_text(const Value& self, const Arguments& arguments, const char* name, bool from_right) {
  const Bound a(name, arguments, {"sub", "start", "end"}, 1);
  const std::string& sought = needle(a);
  const Part where = part(self, a);
  if (!where.in_range) return -1;
  const size_t found = from_right ? where.text.rfind(sought) : where.text.find(sought);
  if (found == std::string_view::npos) return -1;
  return where.start + int64_t(count_characters(where.text.substr(0, found)));
}

Value index_text(const Value& self, const Arguments& arguments, const char* name, bool from_right) {
  const int64_t found = find_text(self, arguments, name, from_right);
  if (found < 0) refuse(Failure::value, "substring not found");
  return found;
}

Value count_text(const Value& self, const Arguments& arguments) {
  const Bound a("count", arguments, {"sub", "start", "end"}, 1);
  const std::string& sought = needle(a);
  const Part where = part(self, a);
  if (!where.in_range) return 0;
  if (sought.empty()) return int64_t(count_characters(where.text)) + 1;
  int64_t count = 0;
  for (size_t at = where.text.find(sought); at != std::string_view::npos; at = where.text.find(sought, at + sought.size())) ++count;
  return count;
}

Value affix(const Value& self, const Arguments& arguments, const char* name, bool at_start) {
  const Bound a(name, arguments, {"prefix", "start", "end"}, 1);
  const Part where = part(self, a);
  const auto matches = [&](const Value& sought) {
    if (sought.is_undefined()) fail_undefined(sought);
    if (!sought.is_text()) refuse(Failure::type, "{} first arg must be str or a tuple of str, not {}", name, sought.type_name());
    if (!where.in_range) return false;
    return at_start ? where.text.starts_with(sought.text()) : where.text.ends_with(sought.text());
  };
  if (!a[0].is(Kind::tuple)) return matches(a[0]);
  return std::any_of(a[0].items().begin(), a[0].items().end(), matches);
}

Value replace_text(const Value& self, const Arguments& arguments) {
  const Bound a("replace", arguments, {"old", "new", "count"}, 2);
  for (size_t i = 0; i < 2; ++i) {
    if (a[i].is_undefined()) fail_undefined(a[i]);
    if (!a[i].is_text()) refuse(Failure::type, "replace() argument {} must be str, not {}", i + 1, a[i].type_name());
  }
  const Value to = self.is_safe() ? escape(a[1]) : a[1];
  return Value(replace(self.text(), a[0].text(), to.text(), a.integer(2, -1)), self.is_safe());
}

Value join_text(const Value& self, const Arguments& arguments) {
  const Bound a("join", arguments, {"iterable"}, 1);
  if (!is_iterable(a[0])) refuse(Failure::type, "can only join an iterable");
  const Next next = iterate(a[0]);
  std::string out;
  int64_t i = 0;
  for (Value v; next(v); ++i) {
    if (i > 0) out += self.text();
    if (self.is_safe()) out += escape(v).text();
    else if (!v.is_text()) refuse(Failure::type, "sequence item {}: expected str instance, {} found", i, v.type_name());
    else out += v.text();
    expect_bytes(out.size());
  }
  return Value(std::move(out), self.is_safe());
}

Value partition(const Value& self, const Arguments& arguments, const char* name, bool from_right) {
  const Bound a(name, arguments, {"sep"}, 1);
  const std::string& separator = needle(a);
  if (separator.empty()) refuse(Failure::value, "empty separator");
  const std::string& text = self.text();
  const size_t at = from_right ? text.rfind(separator) : text.find(separator);
  const auto piece = [&](std::string s) { return Value(std::move(s), self.is_safe()); };
  if (at == std::string::npos)
    return from_right ? Value::tuple({piece(""), piece(""), piece(text)}) : Value::tuple({piece(text), piece(""), piece("")});
  return Value::tuple({piece(text.substr(0, at)), piece(separator), piece(text.substr(at + separator.size()))});
}

Value without_affix(const Value& self, const Arguments& arguments, const char* name, bool at_start) {
  const Bound a(name, arguments, {"prefix"}, 1);
  const std::string& sought = needle(a);
  std::string_view text = self.text();
  if (at_start && text.starts_with(sought)) text.remove_prefix(sought.size());
  else if (!at_start && text.ends_with(sought)) text.remove_suffix(sought.size());
  return Value(std::string(text), self.is_safe());
}

Value split_into_lines(const Value& self, const Arguments& arguments) {
  const Bound a("splitlines", arguments, {"keepends"}, 0);
  return texts(split_lines(self.text(), a.truth(0, false)), self.is_safe());
}

template <std::string (*change)(std::string_view)> Value changed(const Value& self, const Arguments& arguments) {
  const Bound a("str method", arguments, {}, 0);
  expect_bytes(4 * self.text().size());
  return Value(change(self.text()), self.is_safe());
}

bool is_alphanumeric(char32_t c) { return is_letter(c) || is_numeric(c); }

template <bool (*test)(char32_t)> Value all_are(const Value& self, const Arguments& arguments) {
  const Bound a("str method", arguments, {}, 0);
  expect_bytes(4 * self.text().size());
  const std::u32string text = decode_utf8(self.text());
  return !text.empty() && std::all_of(text.begin(), text.end(), test);
}

const std::map<std::string_view, Method>& table() {
  static const std::map<std::string_view, Method> methods = {
      {"strip", [](const Value& s, const Arguments& a) { return strip_sides(s, a, Side::both, "strip"); }},
      {"lstrip", [](const Value& s, const Arguments& a) { return strip_sides(s, a, Side::left, "lstrip"); }},
      {"rstrip", [](const Value& s, const Arguments& a) { return strip_sides(s, a, Side::right, "rstrip"); }},
      {"split", [](const Value& s, const Arguments& a) { return split_by(s, a, "split", split); }},
      {"rsplit", [](const Value& s, const Arguments& a) { return split_by(s, a, "rsplit", split_right); }},
      {"splitlines", split_into_lines},
      {"startswith", [](const Value& s, const Arguments& a) { return affix(s, a, "startswith", true); }},
      {"endswith", [](const Value& s, const Arguments& a) { return affix(s, a, "endswith", false); }},
      {"removeprefix", [](const Value& s, const Arguments& a) { return without_affix(s, a, "removeprefix", true); }},
      {"removesuffix", [](const Value& s, const Arguments& a) { return without_affix(s, a, "removesuffix", false); }},
      {"upper", changed<upper>},
      {"lower", changed<lower>},
      {"title", changed<title>},
      {"capitalize", changed<capitalize>},
      {"isalnum", all_are<is_alphanumeric>},
      {"isalpha", all_are<is_letter>},
      {"isdigit", all_are<is_digit>},
      {"isspace", all_are<is_python_space>},
      {"replace", replace_text},
      {"join", join_text},
      {"find", [](const Value& s, const Arguments& a) { return Value(find_text(s, a, "find", false)); }},
      {"rfind", [](const Value& s, const Arguments& a) { return Value(find_text(s, a, "rfind", true)); }},
      {"index", [](const Value& s, const Arguments& a) { return index_text(s, a, "index", false); }},
      {"rindex", [](const Value& s, const Arguments& a) { return index_text(s, a, "rindex", true); }},
      {"count", count_text},
      {"partition", [](const Value& s, const Arguments& a) { return partition(s, a, "partition", false); }},
      {"rpartition", [](const Value& s, const Arguments& a) { return partition(s, a, "rpartition", true); }},
      {"format", [](const Value& s, const Arguments& a) { return format_braces(s, a); }},
  };
  return methods;
}

}  // namespace

std::optional<Value> text_method(const Value& self, std::string_view name) {
  if (const auto it = table().find(name); it != table().end()) {
    return make_function(std::string(name), [self, run = it->second](Arguments& a) {
      count_steps(self.text().size() / 64);
      return run(self, a);
    });
  }
  return {};
}

}  // namespace hearth::text::jinja
