// JSON to values and back, by Python's rules.
#pragma once

#include <string>
#include <string_view>

#include "text/template/values/value.h"

namespace hearth::text::jinja {

// Objects keep the order of their keys; a key that comes twice has its last value. IoError that begins with `where` for malformed text,
// invalid UTF-8, more than 100 levels, or a number beyond those of binary64.
Value read_json(std::string_view text, const std::string& where);

// json.dumps as transformers' tojson calls it: nothing above ASCII is escaped unless asked for.
struct JsonStyle {
  bool escape_unicode = false, sort_keys = false;
  std::optional<std::string> indent;                         // what one level is indented by; without it all stands on one line
  std::optional<std::string> item_separator, key_separator;  // ", " and ": "; "," at line ends
};
// Failure::type for what JSON has no word for: "Object of type Undefined is not JSON serializable".
std::string write_json(const Value& value, const JsonStyle& style = {});

}  // namespace hearth::text::jinja
