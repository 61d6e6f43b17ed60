// Whether a given value is valid: for the values of enum and const, of which the other keywords may leave only some.
#pragma once

#include "text/grammar/schema/constraints.h"

namespace hearth::text::grammar::schema {

class Evaluator {
 public:
  Evaluator(const Document& document, Patterns& patterns) : document_(document), patterns_(patterns) {}

  bool valid(const Json& value, const Json& schema);
  // Without $ref, allOf, anyOf and oneOf of these schemas themselves.
  bool valid_for_own(const Json& value, const All& schemas);

 private:
  bool own(const Json& value, const Json& schema);
  bool number(const Json& value, const Json& schema, const Constraints& c) const;
  bool object(const Json& value, const Json& schema, const Constraints& c);
  bool array(const Json& value, const Json& schema, const Constraints& c);
  const Document& document_;
  Patterns& patterns_;
  int depth_ = 0;
};

bool equal_values(const Json& a, const Json& b);  // 1 and 1.0 are equal, and so are objects in any order

}  // namespace hearth::text::grammar::schema
