// Proofs that no value is valid for two schemas, which oneOf needs.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "text/grammar/schema/compiler.h"

namespace hearth::text::grammar::schema {
namespace {

bool disjoint_numbers(const Numbers& a, const Numbers& b) {
  if (!a.allowed || !b.allowed) return true;
  const auto below = [](const Numbers& x, const Numbers& y) {
    if (!x.high || !y.low) return false;
    const int order = compare(x.high->value, y.low->value);
    return order < 0 || (order == 0 && (x.high->excluded || y.low->excluded));
  };
  return below(a, b) || below(b, a);
}

bool disjoint_strings(const Strings& a, const Strings& b) {
  if (!a.allowed || !b.allowed) return true;
  return product(values_of(a), values_of(b), Product::both, max_string_states, "schema: oneOf: the strings").empty();
}

bool disjoint_counts(int min_a, int max_a, int min_b, int max_b) { return (max_a >= 0 && max_a < min_b) || (max_b >= 0 && max_b < min_a); }

}  // namespace

// One of them requires a property for which the other allows no common value.
bool Compiler::disjoint_objects(const All& a, const Constraints& ca, const All& b, const Constraints& cb) {
  if (!ca.objects.allowed || !cb.objects.allowed) return true;
  if (disjoint_counts(ca.objects.min, ca.objects.max, cb.objects.min, cb.objects.max)) return true;
  for (const bool swapped : {false, true}) {
    const auto& [x, cx] = swapped ? std::tie(b, cb) : std::tie(a, ca);
    const auto& [y, cy] = swapped ? std::tie(a, ca) : std::tie(b, cb);
    for (const Property& p : cx.objects.properties) {
      if (!p.required) continue;
      const All in_y = schemas_of_property(document_, y, p.name, patterns_);
      // Where y does not require the property, it must not allow it with a value that x allows, either.
      if (disjoint_values(schemas_of_property(document_, x, p.name, patterns_), in_y)) return true;
    }
  }
  return false;
}

bool Compiler::disjoint_values(const All& a, const All& b) {
  const auto left = alternatives_.of(a), right = alternatives_.of(b);
  return std::all_of(left.begin(), left.end(),
                     [&](const All& x) { return std::all_of(right.begin(), right.end(), [&](const All& y) { return disjoint(x, y); }); });
}

bool Compiler::disjoint(const All& a, const All& b) {
  for (const auto& [x, y] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    if (const auto values = listed(*x)) {
      return std::none_of(values->begin(), values->end(), [&](const Json& v) { return evaluator_.valid_for_own(v, *y); });
    }
  }
  if (nesting_ > 3) return false;
  ++nesting_;
  const Constraints ca = constraints_of(document_, a, patterns_), cb = constraints_of(document_, b, patterns_);
  const bool scalars = !(ca.null && cb.null) && !(ca.yes && cb.yes) && !(ca.no && cb.no) && disjoint_numbers(ca.numbers, cb.numbers);
  const bool arrays =
      !ca.arrays.allowed || !cb.arrays.allowed || disjoint_counts(ca.arrays.min, ca.arrays.max, cb.arrays.min, cb.arrays.max);
  const bool all = scalars && arrays && disjoint_strings(ca.strings, cb.strings) && disjoint_objects(a, ca, b, cb);
  --nesting_;
  return all;
}

}  // namespace hearth::text::grammar::schema
