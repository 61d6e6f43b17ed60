#include "text/grammar/schema/evaluate.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/text/utf8.h"

namespace hearth::text::grammar::schema {

bool equal_values(const Json& a, const Json& b) { return nlohmann::json(a) == nlohmann::json(b); }

bool Evaluator::number(const Json& value, const Json& schema, const Constraints& c) const {
  const Numbers& n = c.numbers;
  const Decimal d = Decimal::parse(value.dump());
  if (!n.allowed || (n.integers && !d.fraction.empty())) return false;
  const auto beyond = [](int order, const Bound& b) { return order < 0 || (order == 0 && b.excluded); };
  if (n.low && beyond(compare(d, n.low->value), *n.low)) return false;
  if (n.high && beyond(compare(n.high->value, d), *n.high)) return false;
  const std::string text = (d.negative ? "-" : "") + d.whole + (d.fraction.empty() ? "" : "." + d.fraction);
  return std::all_of(n.factors.begin(), n.factors.end(), [&](const auto& factor) {
    return accepts(multiples(factor.first, "schema: " + document_.pointer(schema) + ": multipleOf"), text);
  });
}

bool Evaluator::object(const Json& value, const Json& schema, const Constraints& c) {
  const Objects& o = c.objects;
  if (!o.allowed || int(value.size()) < o.min || (o.max >= 0 && int(value.size()) > o.max)) return false;
  for (const Property& p : o.properties) {
    if (p.required && !value.contains(p.name)) return false;
  }
  for (auto it = value.begin(); it != value.end(); ++it) {
    for (const Json* names : o.names) {
      if (!valid(Json(it.key()), *names)) return false;
    }
    for (const Json* s : schemas_of_property(document_, {&schema}, it.key(), patterns_)) {
      if (!valid(it.value(), *s)) return false;
    }
  }
  return true;
}

bool Evaluator::array(const Json& value, const Json& schema, const Constraints& c) {
  const Arrays& a = c.arrays;
  if (!a.allowed || int(value.size()) < a.min || (a.max >= 0 && int(value.size()) > a.max)) return false;
  int contained = 0;
  for (size_t i = 0; i < value.size(); ++i) {
    for (const Json* s : schemas_of_item(document_, {&schema}, i)) {
      if (!valid(value[i], *s)) return false;
    }
    if (a.contains != nullptr && valid(value[i], *a.contains)) ++contained;
    for (size_t j = 0; a.unique != nullptr && j < i; ++j) {
      if (equal_values(value[i], value[j])) return false;
    }
  }
  return a.contains == nullptr || contained >= a.min_contains;
}

bool Evaluator::own(const Json& value, const Json& schema) {
  if (schema.is_boolean()) return schema.get<bool>();
  if (const Json* only = document_.find(schema, "const"); only != nullptr && !equal_values(value, *only)) return false;
  if (const Json* list = document_.find(schema, "enum")) {
    if (std::none_of(list->begin(), list->end(), [&](const Json& each) { return equal_values(value, each); })) return false;
  }
  const Constraints c = constraints_of(document_, {&schema}, patterns_);
  switch (value.type()) {
    case Json::value_t::null: return c.null;
    case Json::value_t::boolean: return value.get<bool>() ? c.yes : c.no;
    case Json::value_t::string: {
      const auto& text = value.get_ref<const std::string&>();
      const auto length = int(count_characters(text));
      return c.strings.allowed && length >= c.strings.min && (c.strings.max < 0 || length <= c.strings.max) &&
             std::all_of(c.strings.forms.begin(), c.strings.forms.end(), [&](const Automaton* f) { return accepts(*f, text); });
    }
    case Json::value_t::object: return object(value, schema, c);
    case Json::value_t::array: return array(value, schema, c);
    default: return number(value, schema, c);
  }
}

bool Evaluator::valid_for_own(const Json& value, const All& schemas) {
  return std::all_of(schemas.begin(), schemas.end(), [&](const Json* s) { return own(value, *s); });
}

bool Evaluator::valid(const Json& value, const Json& schema) {
  document_.check(schema);
  if (schema.is_boolean()) return schema.get<bool>();
  if (depth_ > 400) document_.refuse(schema, "$ref", "it leads back to itself without a value in between");
  ++depth_;
  const auto valid_for = [&](const Json& s) { return valid(value, s); };
  bool ok = own(value, schema);
  if (const Json* ref = document_.find(schema, "$ref"); ok && ref != nullptr)
    ok = valid_for(document_.resolve(schema, ref->get<std::string>()));
  if (const Json* all = document_.find(schema, "allOf"); ok && all != nullptr) ok = std::all_of(all->begin(), all->end(), valid_for);
  if (const Json* any = document_.find(schema, "anyOf"); ok && any != nullptr) ok = std::any_of(any->begin(), any->end(), valid_for);
  if (const Json* one = document_.find(schema, "oneOf"); ok && one != nullptr) ok = std::count_if(one->begin(), one->end(), valid_for) == 1;
  --depth_;
  return ok;
}

}  // namespace hearth::text::grammar::schema
