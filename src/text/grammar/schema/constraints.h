// What one alternative of a schema demands of each type of value.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "text/grammar/automaton.h"
#include "text/grammar/schema/decimal.h"
#include "text/grammar/schema/document.h"

namespace hearth::text::grammar::schema {

struct Bound {
  Decimal value;
  bool excluded;
};

struct Numbers {
  bool allowed = true, integers = false;
  std::optional<Bound> low, high;  // the narrowest
  std::vector<std::pair<Decimal, const Json*>> factors;
  bool bounded() const { return low || high || !factors.empty(); }
};

struct Strings {
  bool allowed = true;
  int min = 0, max = -1;                // in code points; max < 0: without limit
  std::vector<const Automaton*> forms;  // patterns and formats: a value is accepted by each
};

struct Property {
  std::string name;
  bool required;
};

struct Objects {
  bool allowed = true;
  std::vector<Property> properties;   // in the order of the document; those that are only required come last
  All names;                          // propertyNames
  std::vector<std::string> patterns;  // of patternProperties
  int min = 0, max = -1;
};

struct Arrays {
  bool allowed = true;
  size_t first = 0;  // items with schemas of their own
  int min = 0, max = -1;
  const Json* contains = nullptr;
  int min_contains = 1;
  const Json* unique = nullptr;  // the schema with uniqueItems: true
};

struct Constraints {
  bool null = true, no = true, yes = true;
  Numbers numbers;
  Strings strings;
  Objects objects;
  Arrays arrays;
};

// Patterns that were compiled, by their text. One per compilation.
class Patterns {
 public:
  // Of "pattern", searched for. Errors name the schema and keyword.
  const Automaton& get(const Document& document, const Json& schema, const char* keyword, const std::string& pattern);

 private:
  std::map<std::string, Automaton> known_;
};

// Of schemas without looking at $ref, allOf, anyOf, oneOf, enum and const.
Constraints constraints_of(const Document& document, const All& schemas, Patterns& patterns);

// What the value of a property (an item) must be valid for, by all schemas.
All schemas_of_property(const Document& document, const All& schemas, const std::string& name, Patterns& patterns);
All schemas_of_item(const Document& document, const All& schemas, size_t index);

constexpr size_t max_string_states = 50'000;
// The texts of numbers, and the values of strings, that fulfill the constraints. bounded() numbers only.
Automaton texts_of(const Numbers& numbers);
Automaton values_of(const Strings& strings);

}  // namespace hearth::text::grammar::schema
