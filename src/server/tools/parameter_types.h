// What the text of a parameter in tags means: tags hold strings as they are, and everything else as JSON.
#pragma once

#include <string>
#include <string_view>

#include "server/tools/tool.h"

namespace hearth::server::tools {

enum class ParameterType {
  text,   // a string, and nothing else: the text itself
  other,  // JSON if it is JSON, Python's True, False and None, else a string
};
// Of a property of the tool. References into the schema are followed.
ParameterType parameter_type(const Tool& tool, const std::string& property);

// The JSON for the text of ParameterType::other.
std::string json_of_text(std::string_view text);

// The schema of the property, without references at its top; nullptr if the tool has no such property.
const Json* property_schema(const Tool& tool, const std::string& property);
// Follows "$ref": "#/…", and "allOf" with a single schema. Stays where it is if there is no such place.
const Json& resolved(const Json& root, const Json& schema);

}  // namespace hearth::server::tools
