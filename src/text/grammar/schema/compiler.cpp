#include "text/grammar/schema/compiler.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace hearth::text::grammar::schema {

constexpr size_t max_schema_rules = 20'000;

Compiler::Compiler(const Json& schema, const JsonOptions& options)
    : document_(schema),
      json_(options),
      evaluator_(document_, patterns_),
      alternatives_(document_, [this](const All& a, const All& b) { return disjoint(a, b); }) {}

Rules Compiler::compile() {
  const Expr root = value({&document_.root()});
  while (!open_.empty()) {
    const auto [schemas, rule] = open_.front();
    open_.pop_front();
    json_.define(rule, body(schemas));
  }
  json_.rules.root = root->rule;
  return std::move(json_.rules);
}

Expr Compiler::value(const All& schemas) {
  All key = schemas;
  std::sort(key.begin(), key.end());
  key.erase(std::unique(key.begin(), key.end()), key.end());
  const auto found = rules_.find(key);
  if (found != rules_.end()) return call(found->second);
  if (rules_.size() >= max_schema_rules)
    fail<UnsupportedError>("schema: it combines into more than {} different schemas, expected a simpler one", max_schema_rules);
  const int rule = json_.declare(schemas.empty() ? "any value" : document_.pointer(*schemas[0]));
  rules_.emplace(key, rule);
  open_.emplace_back(schemas, rule);
  return call(rule);
}

Expr Compiler::body(const All& schemas) {
  std::vector<Expr> options;
  for (const All& each : alternatives_.of(schemas)) options.push_back(alternative(each));
  return choice(std::move(options));
}

Expr Compiler::alternative(const All& schemas) {
  if (schemas.empty()) return json_.value();
  const Constraints c = constraints_of(document_, schemas, patterns_);
  std::vector<Expr> options;
  if (const auto values = listed(schemas)) {
    for (const Json& each : *values) options.push_back(literal(each));
    return choice(std::move(options));
  }
  if (c.null) options.push_back(text("null"));
  if (c.yes) options.push_back(text("true"));
  if (c.no) options.push_back(text("false"));
  if (c.numbers.allowed) options.push_back(number(c.numbers));
  if (c.strings.allowed) options.push_back(string(c.strings));
  if (c.arrays.allowed) options.push_back(array(schemas, c.arrays));
  if (c.objects.allowed) options.push_back(object(schemas, c.objects));
  return choice(std::move(options));
}

std::optional<std::vector<Json>> Compiler::listed(const All& schemas) {
  for (const Json* schema : schemas) {
    const Json* only = document_.find(*schema, "const");
    const Json* list = document_.find(*schema, "enum");
    if (only == nullptr && list == nullptr) continue;
    std::vector<Json> values;
    const auto take = [&](const Json& v) {
      if (evaluator_.valid_for_own(v, schemas)) values.push_back(v);
    };
    if (only != nullptr) {
      take(*only);
    } else {
      for (const Json& v : *list) take(v);
    }
    return values;
  }
  return std::nullopt;
}

Expr Compiler::literal(const Json& value) {
  if (value.is_object() || value.is_array()) {
    std::vector<Expr> parts{text(value.is_object() ? "{" : "[")};
    for (auto it = value.begin(); it != value.end(); ++it) {
      if (it != value.begin()) parts.push_back(text(","));
      parts.push_back(json_.gap());
      if (value.is_object()) {
        parts.push_back(text(Json(it.key()).dump() + ":"));
        parts.push_back(json_.gap());
      }
      parts.push_back(literal(*it));
    }
    if (!value.empty()) parts.push_back(json_.gap());
    parts.push_back(text(value.is_object() ? "}" : "]"));
    return sequence(std::move(parts));
  }
  return text(value.dump());
}

Expr Compiler::string(const Strings& s) {
  if (!s.forms.empty()) return sequence({text("\""), escaped(values_of(s)), text("\"")});
  if (s.min == 0 && s.max < 0) return json_.string();
  if (s.max >= 0 && s.max < s.min) return choice({});
  return sequence({text("\""), repeat(json_.string_character(), s.min, s.max), text("\"")});
}

Expr Compiler::number(const Numbers& n) {
  if (n.bounded()) return expression_of(texts_of(n));
  return n.integers ? json_.integer() : json_.number();
}

}  // namespace hearth::text::grammar::schema
