#include "text/template/functions/methods.h"

#include <array>

#include "text/template/functions/arguments.h"
#include "text/template/values/operations.h"
#include "text/template/values/printing.h"

namespace hearth::text::jinja {

namespace {

constexpr std::array list_changes = {"append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"};
constexpr std::array dict_changes = {"clear", "pop", "popitem", "setdefault", "update"};

// Known to Python, used by no chat template.
void refuse_other(const Value& object, std::string_view name) {
  static constexpr std::pair<const char*, std::string_view> others[] = {
      {"str", "casefold"},    {"str", "center"},      {"str", "encode"},       {"str", "expandtabs"}, {"str", "format_map"},
      {"str", "isascii"},     {"str", "isdecimal"},   {"str", "isidentifier"}, {"str", "islower"},    {"str", "isnumeric"},
      {"str", "isprintable"}, {"str", "istitle"},     {"str", "isupper"},      {"str", "ljust"},      {"str", "maketrans"},
      {"str", "rjust"},       {"str", "swapcase"},    {"str", "translate"},    {"str", "zfill"},      {"list", "copy"},
      {"dict", "copy"},       {"dict", "fromkeys"},   {"range", "start"},      {"range", "step"},     {"range", "stop"},
      {"int", "bit_length"},  {"int", "denominator"}, {"int", "imag"},         {"int", "is_integer"}, {"int", "numerator"},
      {"int", "real"},        {"int", "to_bytes"},    {"float", "hex"},        {"float", "imag"},     {"float", "is_integer"},
      {"float", "real"},
  };
  std::string type = object.is_text() ? "str" : object.is(Kind::boolean) ? "int" : object.type_name();
  for (const auto& [owner, other] : others)
    if (owner == type && other == name) throw Unsupported{fmt::format("the attribute '{}' of {}", name, type)};
}

Value refused(const Value& object, std::string_view name) {
  return make_undefined(fmt::format("access to attribute {} of {} object is unsafe.", repr(Value(name)), repr(Value(object.type_name()))),
                        Failure::security);
}

// list.index and list.count, of tuple and range too.
Value index_of(const Value& self, const Arguments& arguments) {
  const Bound a("index", arguments, {"value", "start", "stop"}, 1);
  const List items = to_list(self);
  const auto size = int64_t(items.size());
  const auto place = [&](size_t i, int64_t otherwise) {
    const int64_t at = a.integer(i, otherwise);
    return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
  };
  for (int64_t i = place(1, 0); i < place(2, size); ++i)
    if (equal(items[size_t(i)], a[0])) return i;
  refuse(Failure::value, "{} is not in {}", repr(a[0]), self.type_name());
}

Value count_of(const Value& self, const Arguments& arguments) {
  const Bound a("count", arguments, {"value"}, 1);
  int64_t count = 0;
  for (const Value& v : to_list(self)) count += equal(v, a[0]);
  return count;
}

Value view(const Value& self, const Arguments& arguments, ViewObject::Part part) {
  const Bound a("dict method", arguments, {}, 0);
  return {Kind::view, std::make_shared<ViewObject>(self, part)};
}

Value get(const Value& self, const Arguments& arguments) {
  const Bound a("get", arguments, {"key", "default"}, 1);
  const Value* found = self.entries().find(a[0]);
  if (found) return *found;
  return a.has(1) ? a[1] : Value::none();
}

using Method = Value (*)(const Value&, const Arguments&);

Method container_function(const Value& object, std::string_view name) {
  if (object.is_list_or_tuple() || object.is(Kind::range)) {
    if (name == "index") return index_of;
    if (name == "count") return count_of;
  }
  if (!object.is_dict()) return nullptr;
  if (name == "keys") return [](const Value& self, const Arguments& a) { return view(self, a, ViewObject::Part::keys); };
  if (name == "values") return [](const Value& self, const Arguments& a) { return view(self, a, ViewObject::Part::values); };
  if (name == "items") return [](const Value& self, const Arguments& a) { return view(self, a, ViewObject::Part::items); };
  if (name == "get") return get;
  return nullptr;
}

}  // namespace

std::optional<Value> container_method(const Value& object, std::string_view name) {
  if (object.is(Kind::list) && std::find(list_changes.begin(), list_changes.end(), name) != list_changes.end())
    return refused(object, name);
  if (object.is_dict() && std::find(dict_changes.begin(), dict_changes.end(), name) != dict_changes.end()) return refused(object, name);
  const Method run = container_function(object, name);
  if (!run) return {};
  return make_function(
      std::string(name), [object, run](Arguments& a) { return run(object, a); }, object.depth());
}

std::optional<Value> method(const Value& object, std::string_view name) {
  if (name.starts_with("__") && name.ends_with("__") && name.size() > 4) return refused(object, name);
  refuse_other(object, name);
  if (object.is_text()) return text_method(object, name);
  return container_method(object, name);
}

}  // namespace hearth::text::jinja
