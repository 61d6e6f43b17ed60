// JSON to values and back, by Python's rules.
#pragma once

#include <string>
#include <string_view>

#include "text/template/values/value.h"

namespace hearth::text::jinja {

// Objects keep the order of their keys; a duplicate key has its last value. IoError, with a message that starts with `where`, for malformed
// text, invalid UTF-8, more than 100 levels, or a number beyond the range of f64.
Value read_json(std::string_view text, const std::string& where);

// json.dumps as called by transformers' tojson: characters above ASCII are escaped only if requested.
struct JsonStyle {
  bool escape_unicode = false, sort_keys = false;
  std::optional<std::string> indent;                         // indentation of one level; without it the output is one line
  std::optional<std::string> item_separator, key_separator;  // ", " and ": "; "," at line ends
};
// Failure::type for a value that JSON cannot represent: "Object of type Undefined is not JSON serializable".
std::string write_json(const Value& value, const JsonStyle& style = {});

}  // namespace hearth::text::jinja
