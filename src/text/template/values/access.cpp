// object.name, object[key], slices and calls.
#include "core/text/utf8.h"
#include "text/template/functions/methods.h"
#include "text/template/loop.h"
#include "text/template/values/operations.h"
#include "text/template/values/printing.h"
#include "text/template/values/python_text.h"

namespace hearth::text::jinja {

namespace {

std::optional<Value> attribute_only(const Value& object, std::string_view name) {
  switch (object.kind()) {
    case Kind::space:
      if (const Value* value = object.as<SpaceObject>().entries.named(name)) return *value;
      return {};
    case Kind::loop: return object.as<LoopObject>().attribute(name);
    case Kind::function:
      for (const char* other : {"arguments", "caller", "catch_kwargs", "catch_varargs", "name"})
        if (name == other) throw Unsupported{fmt::format("the attribute '{}' of a function", name)};
      return {};
    default: return method(object, name);
  }
}

Value sliced(const Value& v, const SliceObject& slice) {
  const SliceRange range = slice_range(slice, length(v));
  if (v.is(Kind::range)) {
    const auto& r = v.as<RangeObject>();
    const int64_t first = r.start + range.start * r.step, by = r.step * range.step;
    return {Kind::range, std::make_shared<RangeObject>(first, first + range.count * by, by)};
  }
  if (v.is_text()) {
    if (range.step == 1) return Value(std::string(characters(v, size_t(range.start), size_t(range.count))), v.is_safe());
    std::string text;
    const bool ascii = v.text().size() == v.characters();
    std::vector<size_t> starts;  // of each character, where they have several bytes
    if (!ascii) {
      expect_bytes(v.characters() * sizeof(size_t));
      for (size_t i = 0; i < v.text().size(); next_character(v.text(), i)) starts.push_back(i);
      starts.push_back(v.text().size());
    }
    count_steps(size_t(range.count) / 16);
    for (int64_t n = 0; n < range.count; ++n) {
      const auto i = size_t(range.start + n * range.step);
      if (ascii) text += v.text()[i];
      else text.append(v.text(), starts[i], starts[i + 1] - starts[i]);
    }
    return Value(std::move(text), v.is_safe());
  }
  List items;
  items.reserve(size_t(range.count));
  for (int64_t n = 0; n < range.count; ++n) items.push_back(v.items()[size_t(range.start + n * range.step)]);
  return {v.kind(), std::make_shared<ListObject>(std::move(items))};
}

std::optional<Value> at_index(const Value& v, int64_t i) {
  const int64_t size = length(v);
  if (i < 0) i += size;
  if (i < 0 || i >= size) return {};
  if (v.is_text()) return Value(std::string(characters(v, size_t(i), 1)), v.is_safe());
  if (v.is(Kind::range)) return Value(v.as<RangeObject>().start + i * v.as<RangeObject>().step);
  return v.items()[size_t(i)];
}

bool is_hashable(const Value& v) {
  if (v.is(Kind::tuple)) return std::all_of(v.items().begin(), v.items().end(), is_hashable);
  if (v.is(Kind::view)) return v.as<ViewObject>().part == ViewObject::Part::values;
  return !v.is(Kind::list) && !v.is(Kind::dict) && !v.is(Kind::slice);
}

// Nothing where Python raises TypeError or LookupError.
std::optional<Value> element_only(const Value& object, const Value& key) {
  if (object.is_dict()) {
    if (!is_hashable(key)) return {};
    const Value* value = object.entries().find(key);
    return value ? std::optional(*value) : std::nullopt;
  }
  if (!object.is_text() && !object.is_list_or_tuple() && !object.is(Kind::range)) return {};
  if (key.is_integer()) return at_index(object, key.integer());
  return {};
}

}  // namespace

Value attribute(const Value& object, std::string_view name) {
  if (object.is_undefined()) fail_undefined(object);
  if (auto value = attribute_only(object, name)) return *std::move(value);
  if (object.is_dict()) {
    if (const Value* value = object.entries().named(name)) return *value;
  }
  return undefined_element(object, Value(name));
}

Value element(const Value& object, const Value& key) {
  if (object.is_undefined()) fail_undefined(object);
  if (auto value = element_only(object, key)) return *std::move(value);
  if (key.is_text())
    if (auto value = attribute_only(object, key.text())) return *std::move(value);
  return undefined_element(object, key);
}

Value part(const Value& object, const Value& slice) {
  if (object.is_undefined()) fail_undefined(object);
  if (object.is_dict()) refuse(Failure::type, "unhashable type: 'slice'");
  if (!object.is_text() && !object.is_list_or_tuple() && !object.is(Kind::range))
    refuse(Failure::type, "'{}' object is not subscriptable", object.type_name());
  const auto& bounds = slice.as<SliceObject>();
  for (const Value* bound : {&bounds.start, &bounds.stop, &bounds.step})
    if (!bound->is_none() && !bound->is_integer())
      refuse(Failure::type, "slice indices must be integers or None or have an __index__ method");
  return sliced(object, bounds);
}

Value call(const Value& callee, Arguments& arguments) {
  if (callee.is_undefined()) fail_undefined(callee);
  const Deeper deeper;
  count_steps();
  if (callee.is(Kind::function)) return callee.as<FunctionObject>().call(arguments);
  refuse(Failure::type, "'{}' object is not callable", callee.type_name());
}

SliceRange slice_range(const SliceObject& slice, int64_t size) {
  const int64_t step = slice.step.is_none() ? 1 : as_index(slice.step);
  if (step == 0) refuse(Failure::value, "slice step cannot be zero");
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  const auto bound = [&](const Value& v, int64_t otherwise) {
    if (v.is_none()) return otherwise;
    int64_t i = as_index(v);
    if (i < 0) i += size;
    return std::clamp(i, low, high);
  };
  const int64_t start = bound(slice.start, step > 0 ? low : high), stop = bound(slice.stop, step > 0 ? high : low);
  if (step > 0) return {start, step, start < stop ? (stop - start - 1) / step + 1 : 0};
  if (start <= stop) return {start, step, 0};
  // −(−2⁶³) is no int64; no text is that long.
  return {start, step, (start - stop - 1) / -std::max(step, -std::numeric_limits<int64_t>::max()) + 1};
}

std::string_view characters(const Value& v, size_t start, size_t count) {
  const std::string_view text = v.text();
  if (text.size() == v.characters()) return text.substr(std::min(start, text.size()), count);
  count_steps(text.size() / 256);
  const size_t begin = byte_of(text, start);
  return text.substr(begin, byte_of(text.substr(begin), count));
}

int64_t as_index(const Value& v) {
  if (v.is_integer()) return v.integer();
  if (v.is_undefined()) fail_undefined(v);
  refuse(Failure::type, "'{}' object cannot be interpreted as an integer", v.type_name());
}

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '\'': out += "&#39;"; break;
      case '"': out += "&#34;"; break;
      default: out += c;
    }
  }
  return out;
}

Value escape(const Value& v) {
  if (v.is_safe()) return v;
  return Value(escape_html(str(v)), true);
}

}  // namespace hearth::text::jinja
