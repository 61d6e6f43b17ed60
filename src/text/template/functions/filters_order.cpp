// Filters that compare the elements of their input: sort, dictsort, min, max.
#include <map>

#include "text/template/functions/arguments.h"
#include "text/template/functions/functions.h"
#include "text/template/values/attribute_path.h"
#include "text/template/values/operations.h"

namespace hearth::text::jinja {

namespace {

struct Keyed {
  Value key, item;
};

// A stable merge sort by the keys, also where their order contradicts itself. Reversed as Python does it: equal ones keep their order.
void sort_keyed(std::vector<Keyed>& items, bool reverse) {
  if (items.size() < 2) return;
  std::vector<Keyed> left(items.begin(), items.begin() + std::ptrdiff_t(items.size() / 2));
  std::vector<Keyed> right(items.begin() + std::ptrdiff_t(items.size() / 2), items.end());
  sort_keyed(left, reverse);
  sort_keyed(right, reverse);
  size_t l = 0, r = 0;
  for (Keyed& place : items) {
    const bool from_right = l == left.size() || (r < right.size() && compare(Comparison::less, reverse ? left[l].key : right[r].key,
                                                                             reverse ? right[r].key : left[l].key));
    place = std::move(from_right ? right[r++] : left[l++]);
  }
}

std::vector<Keyed> keyed(const Value& input, const std::function<Value(const Value&)>& key) {
  std::vector<Keyed> items;
  const Next next = iterate(input);
  for (Value item; next(item);) {
    items.push_back({key(item), item});
    expect_bytes(items.size() * sizeof(Keyed));
  }
  return items;
}

List items_of(const std::vector<Keyed>& sorted) {
  List items;
  for (const Keyed& k : sorted) items.push_back(k.item);
  return items;
}

Value sort(const Value& input, Arguments& arguments) {
  const Bound a("sort", arguments, {"reverse", "case_sensitive", "attribute"}, 0);
  const auto paths = a.is_none(2) ? std::vector<AttributePath>(1) : AttributePath::several(a[2]);
  const bool exact = a.truth(1, false);
  auto items = keyed(input, [&](const Value& item) {
    List keys;
    for (const AttributePath& path : paths) keys.push_back(exact ? path.of(item) : ignore_case(path.of(item)));
    return Value::list(std::move(keys));
  });
  sort_keyed(items, a.truth(0, false));
  return Value::list(items_of(items));
}

Value dictsort(const Value& input, Arguments& arguments) {
  const Bound a("dictsort", arguments, {"case_sensitive", "by", "reverse"}, 0);
  const std::string by = a.text(1, "key");
  if (by != "key" && by != "value") refuse(Failure::runtime, "You can only sort by either \"key\" or \"value\"");
  if (input.is_undefined()) fail_undefined(input);
  if (!input.is_dict()) refuse(Failure::value, "'{}' object has no attribute 'items'", input.type_name());
  const bool exact = a.truth(0, false);
  auto items = keyed(Value(Kind::view, std::make_shared<ViewObject>(input, ViewObject::Part::items)), [&](const Value& pair) {
    const Value& part = pair.items()[by == "key" ? 0 : 1];
    return exact ? part : ignore_case(part);
  });
  sort_keyed(items, a.truth(2, false));
  return Value::list(items_of(items));
}

template <Comparison better> Value extreme(const Value& input, Arguments& arguments) {
  const Bound a("min/max", arguments, {"case_sensitive", "attribute"}, 0);
  const AttributePath path = a.is_none(1) ? AttributePath() : AttributePath(a[1]);
  const bool exact = a.truth(0, false);
  const Next next = iterate(input);
  std::optional<Keyed> best;
  for (Value item; next(item);) {
    const Value value = path.of(item), key = exact ? value : ignore_case(value);
    if (!best || compare(better, key, best->key)) best = Keyed{key, item};
  }
  return best ? best->item : make_undefined("No aggregated item, sequence was empty.");
}

}  // namespace

FilterFunction find_order_filter(std::string_view name) {
  static const std::map<std::string_view, FilterFunction> filters = {
      {"dictsort", dictsort},
      {"max", extreme<Comparison::greater>},
      {"min", extreme<Comparison::less>},
      {"sort", sort},
  };
  const auto it = filters.find(name);
  return it == filters.end() ? nullptr : it->second;
}

}  // namespace hearth::text::jinja
