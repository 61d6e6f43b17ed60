// The tools of a request.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "server/fields.h"

namespace hearth::server::tools {

struct Tool {
  std::string name, description;
  Json parameters;   // a JSON schema, always with "type": "object"
  std::string path;  // of the schema in the request, for messages: "tools[0].function.parameters"
};

// OpenAI's list: [{"type": "function", "function": {"name", "description", "parameters", "strict"}}]. Without parameters a tool takes
// none. ApiError 400 that names the field: another type than function, a name that is not 1 to 128 of the characters A–Z a–z 0–9 _ . / -,
// two tools with one name, parameters that are no object schema.
std::vector<Tool> read_tools(const Json& list, const std::string& path = "tools");

// The one with that name. ApiError 400 about `path` if there is none.
const Tool& find_tool(std::span<const Tool> tools, const std::string& name, const std::string& path = "tool_choice");

const Json* find_member(const Json& object, const char* name);  // nullptr if it is absent or null
bool is_name_byte(char c);                                      // may be part of a tool's name

}  // namespace hearth::server::tools
