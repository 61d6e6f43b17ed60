// From a JSON schema to rules. One rule for each combination of schemas that a value must be valid for.
#pragma once

#include <deque>
#include <map>
#include <optional>

#include "text/grammar/json_rules.h"
#include "text/grammar/schema/alternatives.h"
#include "text/grammar/schema/constraints.h"
#include "text/grammar/schema/evaluate.h"

namespace hearth::text::grammar::schema {

class Compiler {
 public:
  Compiler(const Json& schema, const JsonOptions& options);
  Rules compile();

 private:
  Expr value(const All& schemas);        // a call of the rule for it
  Expr body(const All& schemas);         // of that rule
  Expr alternative(const All& schemas);  // of schemas whose own keywords hold
  std::optional<std::vector<Json>> listed(
      const All& schemas);  // the values of enum and const that the others leave; nullopt: neither is there
  Expr literal(const Json& value);
  Expr string(const Strings& strings);
  Expr number(const Numbers& numbers);

  // objects.cpp
  Expr object(const All& schemas, const Objects& objects);
  struct Others {
    Expr name;  // with its quotes
    All value;
  };
  // The properties that no name is given for: by which patterns their names match.
  std::vector<Others> other_properties(const All& schemas, const Objects& objects);
  Automaton allowed_names(const Objects& objects);

  // arrays.cpp
  Expr array(const All& schemas, const Arrays& arrays);
  Expr unique_items(const All& item, const Arrays& arrays);
  // All values that are valid, if they are finitely many and easy to tell.
  std::optional<std::vector<Json>> enumerated(const All& schemas);

  // disjoint.cpp
  bool disjoint(const All& a, const All& b);
  bool disjoint_values(const All& a, const All& b);
  bool disjoint_objects(const All& a, const Constraints& ca, const All& b, const Constraints& cb);

  Document document_;
  JsonRules json_;
  Patterns patterns_;
  Evaluator evaluator_;
  Alternatives alternatives_;
  std::map<All, int> rules_;              // by the sorted schemas
  std::deque<std::pair<All, int>> open_;  // rules without a body
  int nesting_ = 0;                       // of disjoint()
};

}  // namespace hearth::text::grammar::schema
