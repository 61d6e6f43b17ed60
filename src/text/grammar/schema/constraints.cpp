#include "text/grammar/schema/constraints.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "text/grammar/regex.h"
#include "text/grammar/schema/formats.h"

namespace hearth::text::grammar::schema {
namespace {

void restrict_types(const Json& type, Constraints& c) {
  const auto has = [&](const char* name) {
    return type.is_string() ? type == name : std::any_of(type.begin(), type.end(), [&](const Json& t) { return t == name; });
  };
  c.null = c.null && has("null");
  if (!has("boolean")) c.no = c.yes = false;
  if (!has("number")) {
    if (has("integer")) c.numbers.integers = true;
    else c.numbers.allowed = false;
  }
  if (!has("string")) c.strings.allowed = false;
  if (!has("array")) c.arrays.allowed = false;
  if (!has("object")) c.objects.allowed = false;
}

void narrow(std::optional<Bound>& bound, const Json* value, bool excluded, bool low) {
  if (value == nullptr) return;
  const Bound other{Decimal::parse(value->dump()), excluded};
  if (bound) {
    const int order = compare(other.value, bound->value);
    if (order == 0) bound->excluded = bound->excluded || excluded;
    if (low ? order <= 0 : order >= 0) return;
  }
  bound = other;
}

void cap(int& max, int other) {
  if (other >= 0) max = max < 0 ? other : std::min(max, other);
}

void restrict_numbers(const Document& document, const Json& schema, Numbers& n) {
  narrow(n.low, document.find(schema, "minimum"), false, true);
  narrow(n.low, document.find(schema, "exclusiveMinimum"), true, true);
  narrow(n.high, document.find(schema, "maximum"), false, false);
  narrow(n.high, document.find(schema, "exclusiveMaximum"), true, false);
  if (const Json* factor = document.find(schema, "multipleOf")) {
    const Decimal d = Decimal::parse(factor->dump());
    if (d.negative || d.is_zero()) document.invalid(schema, "multipleOf", "expected a number above 0");
    n.factors.emplace_back(d, &schema);
  }
}

// Formats of OpenAPI that say something about numbers.
bool restrict_format_of_numbers(const std::string& name, Numbers& n) {
  struct Range {
    const char *name, *low, *high;
  };
  static constexpr Range ranges[] = {{"int32", "-2147483648", "2147483647"},
                                     {"int64", "-9223372036854775808", "9223372036854775807"},
                                     {"uint32", "0", "4294967295"},
                                     {"uint64", "0", "18446744073709551615"}};
  if (name == "float" || name == "double") return true;  // what JSON's numbers are
  for (const Range& r : ranges) {
    if (name != r.name) continue;
    n.integers = true;
    const Bound low{Decimal::parse(r.low), false}, high{Decimal::parse(r.high), false};
    if (!n.low || compare(low.value, n.low->value) > 0) n.low = low;
    if (!n.high || compare(high.value, n.high->value) < 0) n.high = high;
    return true;
  }
  return false;
}

void restrict_strings(const Document& document, const Json& schema, Constraints& c, Patterns& patterns) {
  c.strings.min = std::max(c.strings.min, document.count(schema, "minLength", 0));
  cap(c.strings.max, document.count(schema, "maxLength", -1));
  if (const Json* pattern = document.find(schema, "pattern"))
    c.strings.forms.push_back(&patterns.get(document, schema, "pattern", pattern->get_ref<const std::string&>()));
  if (const Json* format = document.find(schema, "format")) {
    const auto& name = format->get_ref<const std::string&>();
    const Automaton* values = format_texts(name);
    if (values != nullptr) c.strings.forms.push_back(values);
    else if (!restrict_format_of_numbers(name, c.numbers))
      document.refuse(schema, "format", fmt::format("'{}' is not supported, expected {}", name, fmt::join(format_names(), ", ")));
  }
}

void restrict_objects(const Document& document, const Json& schema, Objects& o) {
  const auto add = [&](const std::string& name, bool required) {
    const auto found = std::find_if(o.properties.begin(), o.properties.end(), [&](const Property& p) { return p.name == name; });
    if (found == o.properties.end()) o.properties.push_back({name, required});
    else found->required = found->required || required;
  };
  if (const Json* properties = document.find(schema, "properties")) {
    for (auto it = properties->begin(); it != properties->end(); ++it) add(it.key(), false);
  }
  if (const Json* names = document.find(schema, "propertyNames")) o.names.push_back(names);
  if (const Json* patterns = document.find(schema, "patternProperties")) {
    for (auto it = patterns->begin(); it != patterns->end(); ++it) {
      if (std::find(o.patterns.begin(), o.patterns.end(), it.key()) == o.patterns.end()) o.patterns.push_back(it.key());
    }
  }
  o.min = std::max(o.min, document.count(schema, "minProperties", 0));
  cap(o.max, document.count(schema, "maxProperties", -1));
}

void restrict_arrays(const Document& document, const Json& schema, Arrays& a) {
  a.first = std::max(a.first, items_of(document, schema).first.size());
  a.min = std::max(a.min, document.count(schema, "minItems", 0));
  cap(a.max, document.count(schema, "maxItems", -1));
  if (const Json* contains = document.find(schema, "contains")) {
    if (a.contains != nullptr) document.refuse(schema, "contains", "a second one for the same array, expected one");
    a.contains = contains;
    a.min_contains = document.count(schema, "minContains", 1);
  }
  if (const Json* unique = document.find(schema, "uniqueItems"); unique != nullptr && unique->get<bool>()) a.unique = &schema;
}

}  // namespace

const Automaton& Patterns::get(const Document& document, const Json& schema, const char* keyword, const std::string& pattern) {
  const auto found = known_.find(pattern);
  if (found != known_.end()) return found->second;
  try {
    return known_.emplace(pattern, automaton_of(regex(pattern, RegexMatch::search), max_string_states, "regex")).first->second;
  } catch (const UnsupportedError& e) { document.refuse(schema, keyword, e.what()); } catch (const UsageError& e) {
    document.invalid(schema, keyword, e.what());
  }
}

Constraints constraints_of(const Document& document, const All& schemas, Patterns& patterns) {
  Constraints c;
  for (const Json* schema : schemas) {
    if (const Json* type = document.find(*schema, "type")) restrict_types(*type, c);
    restrict_numbers(document, *schema, c.numbers);
    restrict_strings(document, *schema, c, patterns);
    restrict_objects(document, *schema, c.objects);
    restrict_arrays(document, *schema, c.arrays);
  }
  for (const Json* schema : schemas) {
    const Json* format = document.find(*schema, "format");
    if (format != nullptr && !c.numbers.allowed && format_texts(format->get_ref<const std::string&>()) == nullptr)
      document.refuse(*schema, "format", fmt::format("'{}' is a format of numbers, expected a number", format->get<std::string>()));
  }
  // Names that are only required come last.
  for (const Json* schema : schemas) {
    const Json* required = document.find(*schema, "required");
    if (required == nullptr) continue;
    for (const Json& name : *required) {
      auto& all = c.objects.properties;
      const auto found = std::find_if(all.begin(), all.end(), [&](const Property& p) { return p.name == name; });
      if (found == all.end()) all.push_back({name.get<std::string>(), true});
      else found->required = true;
    }
  }
  return c;
}

All schemas_of_property(const Document& document, const All& schemas, const std::string& name, Patterns& patterns) {
  All out;
  for (const Json* schema : schemas) {
    bool named = false;
    if (const Json* properties = document.find(*schema, "properties")) {
      if (const auto found = properties->find(name); found != properties->end()) {
        out.push_back(&*found);
        named = true;
      }
    }
    if (const Json* by_pattern = document.find(*schema, "patternProperties")) {
      for (auto it = by_pattern->begin(); it != by_pattern->end(); ++it) {
        if (!accepts(patterns.get(document, *schema, "patternProperties", it.key()), name)) continue;
        out.push_back(&it.value());
        named = true;
      }
    }
    if (named) continue;
    if (const Json* others = document.find(*schema, "additionalProperties")) out.push_back(others);
  }
  return out;
}

All schemas_of_item(const Document& document, const All& schemas, size_t index) {
  All out;
  for (const Json* schema : schemas) {
    const Items items = items_of(document, *schema);
    if (index < items.first.size()) out.push_back(items.first[index]);
    else if (items.others != nullptr) out.push_back(items.others);
  }
  return out;
}

Automaton texts_of(const Numbers& n) {
  size_t digits = 18;  // integers of 64 bits, unless the bounds ask for more
  for (const auto& bound : {n.low, n.high}) {
    if (bound) digits = std::max({digits, bound->value.whole.size(), bound->value.fraction.size() + 1});
  }
  Automaton all = decimal_texts(n.integers, int(digits));
  const auto restrict = [&](const Automaton& other) {
    all = product(all, other, Product::both, max_number_states, "schema: the bounds of a number");
  };
  if (n.low) restrict(at_least(n.low->value, n.low->excluded));
  if (n.high) restrict(at_most(n.high->value, n.high->excluded));
  for (const auto& [factor, schema] : n.factors) restrict(multiples(factor, "schema: multipleOf"));
  return all;
}

Automaton values_of(const Strings& s) {
  const auto what = "schema: the pattern, format and lengths of a string";
  std::optional<Automaton> all;
  const auto restrict = [&](const Automaton& other) { all = all ? product(*all, other, Product::both, max_string_states, what) : other; };
  for (const Automaton* form : s.forms) restrict(*form);
  if (s.min > 0 || s.max >= 0 || !all) restrict(automaton_of(repeat(any_character(), s.min, s.max), max_string_states, what));
  return *all;
}

}  // namespace hearth::text::grammar::schema
