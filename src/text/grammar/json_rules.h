// The parts that JSON texts consist of, and JSON without a schema.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "text/grammar/automaton.h"
#include "text/grammar/expression.h"

namespace hearth::text::grammar {

enum class Whitespace {
  compact,   // none at all: {"a":1,"b":[]}
  flexible,  // behind { [ , : and in front of } ]: nothing, one space, or one or two line ends with up to 40 spaces or tabs
};
struct JsonOptions {
  Whitespace whitespace = Whitespace::flexible;  // bounded, so that no text consists of white space for ever
};

// Any JSON value, or any object. Strings are valid Unicode: escaped surrogates come in pairs. Numbers have at most 18 digits in front of
// the point, 18 behind it, and an exponent of −999 to 99, so that no text consists of digits for ever, integers fit into 64 bits, and no
// number overflows a double.
// Names may occur twice in an object, as JSON permits.
Rules json_value(const JsonOptions& options = {});
Rules json_object(const JsonOptions& options = {});

// Rules under construction, with those that all JSON needs.
class JsonRules {
 public:
  explicit JsonRules(const JsonOptions& options) : options_(options) {}

  int declare(std::string name, bool shared = false);
  void define(int rule, Expr body) { rules.rules[size_t(rule)].body = std::move(body); }

  Expr gap();  // optional white space
  Expr string();
  Expr number();
  Expr integer();
  Expr value();
  Expr object();
  Expr array();
  // One character of a string, escaped or not. The parts of it that are rare are rules, so a long repetition has few states.
  Expr string_character();

  Rules rules;

 private:
  template <class Make> Expr once(int& rule, const char* name, const Make& make);
  JsonOptions options_;
  int gap_ = -1, string_ = -1, number_ = -1, integer_ = -1, value_ = -1, object_ = -1, array_ = -1, escape_ = -1, wide_ = -1;
};

// The contents of a JSON string, without the quotes, whose value the automaton accepts: characters as they are, but for quotes, backslashes
// and control characters, which are escaped.
Expr escaped(const Automaton& value);

}  // namespace hearth::text::grammar
