#include <algorithm>
#include <nlohmann/json.hpp>

#include "text/grammar/schema/compiler.h"

namespace hearth::text::grammar::schema {
namespace {

constexpr int max_array_states = 200'000;
constexpr size_t max_unique = 8;

}  // namespace

std::optional<std::vector<Json>> Compiler::enumerated(const All& schemas) {
  std::vector<Json> values;
  const auto add = [&](const Json& v) {
    if (std::none_of(values.begin(), values.end(), [&](const Json& known) { return equal_values(known, v); })) values.push_back(v);
  };
  for (const All& each : alternatives_.of(schemas)) {
    if (const auto some = listed(each)) {
      for (const Json& v : *some) add(v);
      continue;
    }
    const Constraints c = constraints_of(document_, each, patterns_);
    if (c.numbers.allowed || c.strings.allowed || c.objects.allowed || c.arrays.allowed) return std::nullopt;
    if (c.null) add(nullptr);
    if (c.yes) add(true);
    if (c.no) add(false);
  }
  return values;
}

// A state for each set of values that are there.
Expr Compiler::unique_items(const All& item, const Arrays& a) {
  const auto values = enumerated(item);
  if (a.first > 0 || a.contains != nullptr || !values || values->size() > max_unique)
    document_.refuse(*a.unique, "uniqueItems",
                     "expected false, at most one item, or items of at most " + std::to_string(max_unique) + " values that are listed");
  Network n;
  n.states = 1 << values->size();
  const int last = n.add_state();
  for (int set = 0; set < 1 << values->size(); ++set) {
    int count = 0;
    for (size_t v = 0; v < values->size(); ++v) count += set >> v & 1;
    if (count >= a.min && (a.max < 0 || count <= a.max)) n.connect(set, last, count == 0 ? text("") : json_.gap());
    for (size_t v = 0; v < values->size(); ++v) {
      if ((set >> v & 1) != 0) continue;
      n.connect(set, set | 1 << v, sequence({text(count == 0 ? "" : ","), json_.gap(), literal((*values)[v])}));
    }
  }
  n.finals = {last};
  return sequence({text("["), network(std::move(n)), text("]")});
}

// States (i, n): i items are there, n of them are what the array must contain; both count no further than it matters.
Expr Compiler::array(const All& schemas, const Arrays& a) {
  const int first = int(a.first);
  const All rest = schemas_of_item(document_, schemas, a.first);
  if (first == 0 && rest.empty() && a.contains == nullptr && a.unique == nullptr && a.min == 0 && a.max < 0) return json_.array();
  if (a.unique != nullptr && (a.max < 0 || a.max > 1)) return unique_items(rest, a);
  const int contained = a.contains != nullptr ? a.min_contains : 0;
  const int top = a.max >= 0 ? a.max : std::max({first, a.min, 1});
  if (top + 1 > max_array_states / (contained + 1))
    document_.refuse(*schemas[0], a.max >= 0 ? "maxItems" : "minItems", "together with contains it needs too many states, expected less");

  Network n;
  const auto state = [&](int i, int count) { return i * (contained + 1) + count; };
  n.states = (top + 1) * (contained + 1);
  const int last = n.add_state();
  const Expr open = json_.gap(), comma = sequence({text(","), json_.gap()});
  for (int i = 0; i <= top; ++i) {
    const All item = i < first ? schemas_of_item(document_, schemas, size_t(i)) : rest;
    for (int c = 0; c <= contained; ++c) {
      if (i >= a.min && c == contained) n.connect(state(i, c), last, i == 0 ? text("") : json_.gap());
      if (i == top && a.max >= 0) continue;
      const int next = std::min(i + 1, top);
      const Expr separator = i == 0 ? open : comma;
      n.connect(state(i, c), state(next, c), sequence({separator, value(item)}));
      if (c == contained) continue;
      All both = item;
      both.push_back(a.contains);
      n.connect(state(i, c), state(next, c + 1), sequence({separator, value(both)}));
    }
  }
  n.finals = {last};
  return sequence({text("["), network(std::move(n)), text("]")});
}

}  // namespace hearth::text::grammar::schema
