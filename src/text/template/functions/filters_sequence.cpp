// Filters that go through the elements of their input. map, select, reject, unique and items are lazy, as in Jinja2: an iterator
// that can be gone through once.
#include <map>

#include "text/template/functions/arguments.h"
#include "text/template/functions/functions.h"
#include "text/template/values/attribute_path.h"
#include "text/template/values/operations.h"
#include "text/template/values/printing.h"

namespace hearth::text::jinja {

namespace {

Value generator(Next next, const Value& source) { return Value::iterator("generator", std::move(next), source); }

// iter() at the first element: before, an iterator of what has no elements is no error.
Next iterate_later(const Value& source) {
  return [source, next = Next()](Value& item) mutable {
    if (!next) next = iterate(source);
    return next(item);
  };
}

Value join(const Value& input, Arguments& arguments) {
  const Bound a("join", arguments, {"d", "attribute"}, 0);
  const AttributePath path = a.is_none(1) ? AttributePath() : AttributePath(a[1]);
  const std::string separator = a.has(0) ? str(a[0]) : "";
  const Next next = iterate(input);
  std::string out;
  bool first = true;
  for (Value item; next(item); first = false) {
    if (!first) out += separator;
    out += str(path.of(item));
    count_steps(separator.size() / 256);
    expect_bytes(out.size());
  }
  return Value(std::move(out));
}

Value count(const Value& input) { return length(input); }

Value list(const Value& input) { return Value::list(to_list(input)); }

Value first(const Value& input) {
  const Next next = iterate(input);
  Value item;
  return next(item) ? item : make_undefined("No first item, sequence was empty.");
}

// reversed(): nothing for iterators and sets of values without places.
bool can_reverse(const Value& v) { return known_length(v).has_value() && !v.is(Kind::loop); }

Value last(const Value& input) {
  if (!can_reverse(input)) refuse(Failure::type, "'{}' object is not reversible", input.type_name());
  if (*known_length(input) == 0) return make_undefined("No last item, sequence was empty.");
  if (input.is_text() || input.is_list_or_tuple()) return element(input, -1);
  return to_list(input).back();
}

Value reverse(const Value& input) {
  if (input.is_text()) {
    const Value backwards(Kind::slice, std::make_shared<SliceObject>(Value::none(), Value::none(), -1));
    return part(input, backwards);
  }
  if (!is_iterable(input)) refuse(Failure::runtime, "argument must be iterable");
  List items = to_list(input);
  std::reverse(items.begin(), items.end());
  Value reversed = Value::list(std::move(items));
  if (!can_reverse(input)) return reversed;
  const std::string name = input.is(Kind::list) ? "list_reverseiterator" : "reversed";
  return Value::iterator(name, iterate(reversed), reversed);
}

Value items(const Value& input) {
  if (!input.is_dict() && !input.is_undefined()) {
    return generator([](Value&) -> bool { refuse(Failure::type, "Can only get item pairs from a mapping."); }, input);
  }
  if (input.is_undefined()) return generator([](Value&) { return false; }, input);
  return generator(iterate(Value(Kind::view, std::make_shared<ViewObject>(input, ViewObject::Part::items))), input);
}

// What map does to one element.
std::function<Value(const Value&)> mapping(Arguments& arguments) {
  const auto named = [&](std::string_view name) -> const Value* {
    for (const auto& [key, value] : arguments.named)
      if (key == name) return &value;
    return nullptr;
  };
  if (arguments.positional.empty() && named("attribute")) {
    for (const auto& [key, value] : arguments.named)
      if (key != "attribute" && key != "default") refuse(Failure::runtime, "Unexpected keyword argument {}", repr_text(key));
    const Value* otherwise = named("default");
    return [path = AttributePath(*named("attribute")), has_default = otherwise && !otherwise->is_none(),
            fallback = otherwise ? *otherwise : Value()](const Value& item) { return path.of(item, has_default ? &fallback : nullptr); };
  }
  if (arguments.positional.empty()) refuse(Failure::runtime, "map requires a filter argument");
  const std::string name = str(arguments.positional[0]);
  const FilterFunction filter = find_filter(name);
  if (!filter) refuse(Failure::runtime, "No filter named {}.", repr_text(name));
  Arguments rest{List(arguments.positional.begin() + 1, arguments.positional.end()), arguments.named};
  return [filter, rest](const Value& item) {
    Arguments copy = rest;
    return filter(item, copy);
  };
}

int depth_of(const Arguments& arguments) {
  int depth = 0;
  for (const Value& v : arguments.positional) depth = std::max(depth, v.depth());
  for (const auto& [name, v] : arguments.named) depth = std::max(depth, v.depth());
  return depth;
}

// A lazy filter that keeps its arguments: as deep as the deepest of them.
Value lazy(const Value& input, const Arguments& arguments, Next next) {
  const int depth = std::max(input.depth(), depth_of(arguments));
  return {Kind::iterator, std::make_shared<IteratorObject>("generator", std::move(next), depth)};
}

Value map(const Value& input, Arguments& arguments) {
  if (!truth(input)) return generator([](Value&) { return false; }, input);
  return lazy(input, arguments,
              [arguments, next = iterate_later(input), change = std::function<Value(const Value&)>()](Value& item) mutable {
                if (!change) change = mapping(arguments);
                if (!next(item)) return false;
                item = change(item);
                return true;
              });
}

std::function<bool(const Value&)> condition(const Arguments& arguments, bool of_attribute) {
  AttributePath path;
  size_t at = 0;
  if (of_attribute) {
    if (arguments.positional.empty()) refuse(Failure::runtime, "Missing parameter for attribute name");
    path = AttributePath(arguments.positional[at++]);
  }
  if (arguments.positional.size() <= at) return [path](const Value& item) { return truth(path.of(item)); };
  const std::string name = str(arguments.positional[at++]);
  const TestFunction test = find_test(name);
  if (!test) refuse(Failure::runtime, "No test named {}.", repr_text(name));
  Arguments rest{List(arguments.positional.begin() + std::ptrdiff_t(at), arguments.positional.end()), arguments.named};
  return [path, test, rest](const Value& item) {
    Arguments copy = rest;
    return test(path.of(item), copy);
  };
}

template <bool wanted, bool of_attribute> Value select(const Value& input, Arguments& arguments) {
  if (!truth(input)) return generator([](Value&) { return false; }, input);
  return lazy(input, arguments, [arguments, next = iterate_later(input), holds = std::function<bool(const Value&)>()](Value& item) mutable {
    if (!holds) holds = condition(arguments, of_attribute);
    while (next(item))
      if (holds(item) == wanted) return true;
    return false;
  });
}

Value unique(const Value& input, Arguments& arguments) {
  const Bound a("unique", arguments, {"case_sensitive", "attribute"}, 0);
  const AttributePath path = a.is_none(1) ? AttributePath() : AttributePath(a[1]);
  return generator(
      [path, exact = a.truth(0, false), next = iterate_later(input), seen = Dict()](Value& item) mutable {
        while (next(item)) {
          const Value value = path.of(item), key = exact ? value : ignore_case(value);
          if (seen.find(key)) continue;
          expect_bytes(seen.size() * sizeof(Dict::Entry));
          seen.set(key, Value::none());
          return true;
        }
        return false;
      },
      input);
}

Value sum(const Value& input, Arguments& arguments) {
  const Bound a("sum", arguments, {"attribute", "start"}, 0);
  const AttributePath path = a.is_none(0) ? AttributePath() : AttributePath(a[0]);
  Value total = a.has(1) ? a[1] : Value(0);
  if (total.is_text()) refuse(Failure::type, "sum() can't sum strings [use ''.join(seq) instead]");
  const Next next = iterate(input);
  for (Value item; next(item);) total = arithmetic(Operator::add, total, path.of(item));
  return total;
}

}  // namespace

FilterFunction find_sequence_filter(std::string_view name) {
  static const std::map<std::string_view, FilterFunction> filters = {
      {"count", alone<count>},
      {"first", alone<first>},
      {"items", alone<items>},
      {"join", join},
      {"last", alone<last>},
      {"length", alone<count>},
      {"list", alone<list>},
      {"map", map},
      {"reject", select<false, false>},
      {"rejectattr", select<false, true>},
      {"reverse", alone<reverse>},
      {"select", select<true, false>},
      {"selectattr", select<true, true>},
      {"sum", sum},
      {"unique", unique},
  };
  const auto it = filters.find(name);
  return it == filters.end() ? nullptr : it->second;
}

}  // namespace hearth::text::jinja
