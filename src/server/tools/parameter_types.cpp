#include "server/tools/parameter_types.h"

#include <algorithm>

#include "server/tools/json_scanner.h"

namespace hearth::server::tools {

const Json& resolved(const Json& root, const Json& schema) {
  const Json* at = &schema;
  for (int steps = 0; steps < 32 && at->is_object(); ++steps) {
    if (const auto all = at->find("allOf"); all != at->end() && all->is_array() && all->size() == 1 && !at->contains("type")) {
      at = &(*all)[0];
      continue;
    }
    const auto reference = at->find("$ref");
    if (reference == at->end() || !reference->is_string() || !reference->get_ref<const std::string&>().starts_with("#/")) break;
    try {
      const Json* to = &root.at(Json::json_pointer(reference->get_ref<const std::string&>().substr(1)));
      if (to == at) break;
      at = to;
    } catch (const Json::exception&) { break; }
  }
  return *at;
}

const Json* property_schema(const Tool& tool, const std::string& property) {
  const auto properties = tool.parameters.find("properties");
  if (properties == tool.parameters.end() || !properties->is_object()) return nullptr;
  const auto found = properties->find(property);
  return found == properties->end() ? nullptr : &resolved(tool.parameters, *found);
}

ParameterType parameter_type(const Tool& tool, const std::string& property) {
  const Json* schema = property_schema(tool, property);
  if (!schema || !schema->is_object()) return ParameterType::other;
  if (const auto type = schema->find("type"); type != schema->end()) {
    const bool text = *type == "string" || (type->is_array() && type->size() == 1 && (*type)[0] == "string");
    return text ? ParameterType::text : ParameterType::other;
  }
  if (const auto constant = schema->find("const"); constant != schema->end() && constant->is_string()) return ParameterType::text;
  const auto values = schema->find("enum");
  const bool texts = values != schema->end() && values->is_array() && !values->empty() &&
                     std::ranges::all_of(*values, [](const Json& v) { return v.is_string(); });
  return texts ? ParameterType::text : ParameterType::other;
}

std::string json_of_text(std::string_view text) {
  constexpr std::string_view space = " \n\r\t";
  const size_t first = std::min(text.find_first_not_of(space), text.size());
  const std::string_view value = text.substr(first, text.find_last_not_of(space) + 1 - first);
  if (value == "True") return "true";
  if (value == "False") return "false";
  if (value == "None") return "null";
  return is_json(value) ? std::string(value) : '"' + escaped_json(text) + '"';
}

}  // namespace hearth::server::tools
