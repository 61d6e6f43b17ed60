#include "server/tools/tool.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "server/api_error.h"

namespace hearth::server::tools {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& message) {
  throw ApiError(400, one_line(fmt::format("{}: {}", path, message)), path);
}

std::string text_of(const Json& object, const char* name, const std::string& path) {
  const Json* value = find_member(object, name);
  if (!value) return "";
  if (!value->is_string()) refuse(path + "." + name, "expected a string");
  return value->get<std::string>();
}

Json parameters_of(const Json& function, const std::string& path) {
  const Json* given = find_member(function, "parameters");
  if (!given) return {{"type", "object"}, {"properties", Json::object()}, {"additionalProperties", false}};
  if (!given->is_object()) refuse(path, "expected a JSON schema, an object");
  Json schema = *given;
  if (const Json* type = find_member(*given, "type")) {
    if (*type != "object") refuse(path, "expected a schema with \"type\": \"object\", because arguments have names");
  } else {
    schema["type"] = "object";
  }
  return schema;
}

}  // namespace

const Json* find_member(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '/' || c == '-';
}

std::vector<Tool> read_tools(const Json& list, const std::string& path) {
  if (!list.is_array()) refuse(path, "expected a list of tools");
  std::vector<Tool> tools;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", path, i);
    if (!list[i].is_object()) refuse(at, "expected an object");
    if (const std::string type = text_of(list[i], "type", at); !type.empty() && type != "function")
      refuse(at + ".type", fmt::format("got '{}', expected 'function'", type));
    const Json* function = find_member(list[i], "function");
    if (!function || !function->is_object()) refuse(at + ".function", "expected an object with a name");
    const std::string inner = at + ".function";
    Tool tool{.name = text_of(*function, "name", inner),
              .description = text_of(*function, "description", inner),
              .parameters = parameters_of(*function, inner + ".parameters"),
              .path = inner + ".parameters"};
    if (tool.name.empty() || tool.name.size() > 128 || !std::ranges::all_of(tool.name, is_name_byte))
      refuse(inner + ".name", fmt::format("got '{}', expected 1 to 128 of the characters A-Z a-z 0-9 _ . / -", tool.name));
    if (std::ranges::any_of(tools, [&](const Tool& t) { return t.name == tool.name; }))
      refuse(inner + ".name", fmt::format("two tools have the name '{}'", tool.name));
    tools.push_back(std::move(tool));
  }
  return tools;
}

const Tool& find_tool(std::span<const Tool> tools, const std::string& name, const std::string& path) {
  for (const Tool& tool : tools)
    if (tool.name == name) return tool;
  refuse(path, fmt::format("there is no tool with the name '{}'", name));
}

}  // namespace hearth::server::tools
