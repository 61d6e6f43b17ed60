// len(), iter() and list().
#include "core/text/utf8.h"
#include "text/template/loop.h"
#include "text/template/values/operations.h"

namespace hearth::text::jinja {

namespace {

Next over_list(const Value& v) {
  return [v, i = size_t(0)](Value& out) mutable {
    if (i >= v.items().size()) return false;
    out = v.items()[i++];
    return true;
  };
}

Next over_text(const Value& v) {
  return [v, i = size_t(0)](Value& out) mutable {
    const std::string& text = v.text();
    if (i >= text.size()) return false;
    size_t end = i;
    next_character(text, end);
    out = Value(text.substr(i, end - i));
    i = end;
    return true;
  };
}

Next over_dict(const Value& dict, ViewObject::Part part) {
  return [dict, part, i = size_t(0)](Value& out) mutable {
    const auto& entries = dict.entries().entries();
    if (i >= entries.size()) return false;
    const auto& [key, value] = entries[i++];
    switch (part) {
      case ViewObject::Part::keys: out = key; break;
      case ViewObject::Part::values: out = value; break;
      case ViewObject::Part::items: out = Value::tuple({key, value}); break;
    }
    return true;
  };
}

Next over_range(const Value& v) {
  const auto& range = v.as<RangeObject>();
  return [at = range.start, step = range.step, left = range.size()](Value& out) mutable {
    if (left <= 0) return false;
    out = at;
    if (--left > 0) at += step;
    return true;
  };
}

Next counted(Next next) {
  return [next = std::move(next)](Value& out) {
    count_steps();
    return next(out);
  };
}

Next uncounted(const Value& v) {
  switch (v.kind()) {
    case Kind::undefined: return [](Value&) { return false; };
    case Kind::text: return over_text(v);
    case Kind::list:
    case Kind::tuple: return over_list(v);
    case Kind::dict: return over_dict(v, ViewObject::Part::keys);
    case Kind::view: return over_dict(v.as<ViewObject>().dict, v.as<ViewObject>().part);
    case Kind::range: return over_range(v);
    case Kind::iterator:
      return [v](Value& out) {
        const Deeper deeper;  // a chain of filters
        return v.as<IteratorObject>().next(out);
      };
    case Kind::loop: return [v](Value& out) { return v.as<LoopObject>().next(out); };
    default: break;
  }
  refuse(Failure::type, "'{}' object is not iterable", v.type_name());
}

}  // namespace

std::optional<int64_t> known_length(const Value& v) {
  switch (v.kind()) {
    case Kind::undefined: return 0;
    case Kind::text: return int64_t(v.characters());
    case Kind::list:
    case Kind::tuple: return int64_t(v.items().size());
    case Kind::dict: return int64_t(v.entries().size());
    case Kind::view: return int64_t(v.as<ViewObject>().dict.entries().size());
    case Kind::range: return v.as<RangeObject>().size();
    case Kind::loop: return v.as<LoopObject>().size();
    default: return {};
  }
}

int64_t length(const Value& v) {
  if (const auto size = known_length(v)) return *size;
  refuse(Failure::type, "object of type '{}' has no len()", v.type_name());
}

bool is_iterable(const Value& v) { return v.is(Kind::iterator) || v.is(Kind::loop) || known_length(v).has_value(); }

Next iterate(const Value& v) { return counted(uncounted(v)); }

List to_list(const Value& v) {
  if (v.is_list_or_tuple()) return v.items();
  List items;
  const Next next = iterate(v);
  for (Value item; next(item);) {
    items.push_back(std::move(item));
    expect_bytes(items.size() * sizeof(Value));
  }
  return items;
}

}  // namespace hearth::text::jinja
