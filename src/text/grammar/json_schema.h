// JSON schemas: every keyword is honored, or the schema is refused. docs/structured-output.md lists the keywords.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "text/grammar/json_rules.h"

namespace hearth::text::grammar {

// The texts of the values that are valid for the schema, in one spelling of each name: properties in the order of the schema, those that
// only "required" names behind them, and then any others.
//
// UnsupportedError "schema: #/properties/a: KEYWORD: …" for what is not supported, UsageError in the same form for what is no schema.
// compile() refuses a schema that no finite value fulfills.
Rules json_schema(const nlohmann::ordered_json& schema, const JsonOptions& options = {});
Rules json_schema_text(std::string_view schema, const JsonOptions& options = {});  // UsageError, too, if it is not JSON

}  // namespace hearth::text::grammar
