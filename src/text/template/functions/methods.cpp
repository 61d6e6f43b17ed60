#include "text/template/functions/methods.h"

#include <array>
#include <cmath>

#include "text/template/functions/arguments.h"
#include "text/template/values/operations.h"
#include "text/template/values/printing.h"

namespace hearth::text::jinja {

namespace {

constexpr std::array list_changes = {"append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"};
constexpr std::array dict_changes = {"clear", "pop", "popitem", "setdefault", "update"};

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
  if (name == "copy" && (object.is(Kind::list) || object.is_dict()))
    return [](const Value& self, const Arguments& a) {
      const Bound none("copy", a, {}, 0);
      return self;
    };
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
  if (object.is(Kind::range)) {
    const auto& range = object.as<RangeObject>();
    if (name == "start") return range.start;
    if (name == "stop") return range.stop;
    if (name == "step") return range.step;
  }
  const Method run = container_function(object, name);
  if (!run) return {};
  return make_function(
      std::string(name), [object, run](Arguments& a) { return run(object, a); }, object.depth());
}

std::optional<Value> method(const Value& object, std::string_view name) {
  if (name.starts_with("__") && name.ends_with("__") && name.size() > 4) return refused(object, name);
  if (object.is_text()) return text_method(object, name);
  if (object.is(Kind::real) && name == "is_integer") {
    return make_function("is_integer", [v = object.real()](Arguments& a) {
      const Bound none("is_integer", a, {}, 0);
      return Value(std::isfinite(v) && std::floor(v) == v);
    });
  }
  if (object.is_number()) {
    if (name == "real" || (name == "numerator" && object.is_integer())) return plus(object);
    if (name == "imag") return object.is_integer() ? Value(0) : Value(0.0);
    if (name == "denominator" && object.is_integer()) return Value(1);
  }
  return container_method(object, name);
}

}  // namespace hearth::text::jinja
