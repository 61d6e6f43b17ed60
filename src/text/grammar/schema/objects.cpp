#include <algorithm>
#include <nlohmann/json.hpp>

#include "text/grammar/schema/compiler.h"

namespace hearth::text::grammar::schema {
namespace {

constexpr size_t max_patterns = 6;
constexpr int max_object_states = 50'000;

Automaton any_text() {
  static const Automaton any = automaton_of(repeat(any_character(), 0, -1), 100, "schema: a name");
  return any;
}

Automaton narrowed(const Automaton& a, const Automaton& b, Product kind) {
  return product(a, b, kind, max_string_states, "schema: the names of properties");
}

}  // namespace

// By propertyNames.
Automaton Compiler::allowed_names(const Objects& objects) {
  if (objects.names.empty()) return any_text();
  std::vector<Expr> options;
  for (const All& schemas : alternatives_.of(objects.names)) {
    if (const auto values = listed(schemas)) {
      for (const Json& v : *values) {
        if (v.is_string()) options.push_back(text(v.get_ref<const std::string&>()));
      }
      continue;
    }
    const Constraints c = constraints_of(document_, schemas, patterns_);
    if (c.strings.allowed) options.push_back(expression_of(values_of(c.strings)));
  }
  return automaton_of(choice(std::move(options)), max_string_states, "schema: propertyNames");
}

std::vector<Compiler::Others> Compiler::other_properties(const All& schemas, const Objects& objects) {
  const bool plain = objects.properties.empty() && objects.patterns.empty() && objects.names.empty();
  if (objects.patterns.size() > max_patterns)
    document_.refuse(*schemas[0], "patternProperties", "there are more than " + std::to_string(max_patterns) + " patterns, expected fewer");
  Automaton free_names;
  if (!plain) {
    free_names = allowed_names(objects);
    std::vector<Expr> declared;
    for (const Property& p : objects.properties) declared.push_back(text(p.name));
    if (!declared.empty())
      free_names = narrowed(free_names, automaton_of(choice(std::move(declared)), max_string_states, "schema: the names of properties"),
                            Product::first_without_second);
  }
  std::vector<Others> out;
  // Each set of patterns, and the names that match these and no others.
  for (size_t set = 0; set < size_t(1) << objects.patterns.size(); ++set) {
    Others others;
    Automaton names = free_names;
    for (size_t p = 0; p < objects.patterns.size(); ++p) {
      const Automaton& matching = patterns_.get(document_, *schemas[0], "patternProperties", objects.patterns[p]);
      names = narrowed(names, matching, (set >> p & 1) != 0 ? Product::both : Product::first_without_second);
    }
    if (!plain && names.empty()) continue;
    bool possible = true;
    for (const Json* schema : schemas) {
      bool named = false;
      if (const Json* by_pattern = document_.find(*schema, "patternProperties")) {
        for (auto it = by_pattern->begin(); it != by_pattern->end(); ++it) {
          const auto p = size_t(std::find(objects.patterns.begin(), objects.patterns.end(), it.key()) - objects.patterns.begin());
          if ((set >> p & 1) == 0) continue;
          others.value.push_back(&it.value());
          named = true;
        }
      }
      if (named) continue;
      if (const Json* additional = document_.find(*schema, "additionalProperties")) others.value.push_back(additional);
    }
    for (const Json* s : others.value) possible = possible && *s != Json(false);
    if (!possible) continue;
    others.name = plain ? json_.string() : sequence({text("\""), escaped(names), text("\"")});
    out.push_back(std::move(others));
  }
  return out;
}

// States (i, n): the properties before i are done, and n of all are there; n counts no further than it matters.
Expr Compiler::object(const All& schemas, const Objects& o) {
  const bool additional =
      std::any_of(schemas.begin(), schemas.end(), [&](const Json* s) { return document_.find(*s, "additionalProperties"); });
  if (o.properties.empty() && o.patterns.empty() && o.names.empty() && !additional && o.min == 0 && o.max < 0) return json_.object();
  const std::vector<Others> others = other_properties(schemas, o);
  const int required = int(std::count_if(o.properties.begin(), o.properties.end(), [](const Property& p) { return p.required; }));
  // Names beyond the declared ones may repeat, so only the first of them surely counts.
  if (!others.empty() && o.min > required + 1)
    document_.refuse(*schemas[0], "minProperties",
                     "it asks for properties without names to be counted, expected at most " + std::to_string(required + 1) +
                         " or additionalProperties: false");
  const int declared = int(o.properties.size());
  const bool counts = o.max >= 0 || o.min > required;
  const int top = o.max >= 0 ? o.max : counts ? std::max(o.min, 1) : 1;  // counted up to here
  if (declared + 1 > max_object_states / (top + 1))
    document_.refuse(*schemas[0], "maxProperties", "too many properties to count, expected fewer");

  const Automaton names = o.names.empty() ? Automaton() : allowed_names(o);
  Network n;
  const auto state = [&](int i, int count) { return i * (top + 1) + count; };
  n.states = (declared + 1) * (top + 1);
  const int last = n.add_state();
  const Expr comma = sequence({text(","), json_.gap()}), colon = sequence({text(":"), json_.gap()});
  // From any count to one more, through one copy of the member if nothing is counted.
  const auto member = [&](int from, int to, const Expr& name, const All& schemas_of_value) {
    const Expr content = sequence({name, colon, value(schemas_of_value)});
    const bool saturates = o.max < 0;
    if (!counts) {
      const int shared = n.add_state();
      n.connect(state(from, 0), shared, json_.gap());
      n.connect(state(from, 1), shared, comma);
      n.connect(shared, state(to, 1), content);
      return;
    }
    for (int c = 0; c <= top; ++c) {
      if (c == top && !saturates) break;
      n.connect(state(from, c), state(to, std::min(c + 1, top)), sequence({c == 0 ? json_.gap() : comma, content}));
    }
  };
  for (int i = 0; i < declared; ++i) {
    const Property& p = o.properties[size_t(i)];
    if (!p.required) {
      for (int c = 0; c <= top; ++c) n.connect(state(i, c), state(i + 1, c));
    }
    if (!o.names.empty() && !accepts(names, p.name)) continue;
    member(i, i + 1, text(Json(p.name).dump()), schemas_of_property(document_, schemas, p.name, patterns_));
  }
  for (const Others& each : others) member(declared, declared, each.name, each.value);
  for (int c = 0; c <= top; ++c) {
    if (counts && c < o.min) continue;
    n.connect(state(declared, c), last, c == 0 ? text("") : json_.gap());
  }
  n.finals = {last};
  return sequence({text("{"), network(std::move(n)), text("}")});
}

}  // namespace hearth::text::grammar::schema
