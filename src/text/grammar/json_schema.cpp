#include "text/grammar/json_schema.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "text/grammar/schema/compiler.h"

namespace hearth::text::grammar {

Rules json_schema(const nlohmann::ordered_json& schema, const JsonOptions& options) {
  try {
    return schema::Compiler(schema, options).compile();
  } catch (const nlohmann::json::exception& e) { fail<UsageError>("schema: it has a text that is not UTF-8: {}", e.what()); }
}

Rules json_schema_text(std::string_view text, const JsonOptions& options) {
  nlohmann::ordered_json schema;
  try {
    schema = nlohmann::ordered_json::parse(text, [](int depth, auto, auto&) {
      if (depth > 1000) fail<UnsupportedError>("schema: it is nested more than 1000 deep, expected less");
      return true;
    });
  } catch (const nlohmann::json::exception& e) { fail<UsageError>("schema: it is not JSON: {}", e.what()); }
  return json_schema(schema, options);
}

}  // namespace hearth::text::grammar
