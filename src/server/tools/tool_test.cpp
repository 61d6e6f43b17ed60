#include "server/tools/tool.h"

#include <gtest/gtest.h>

#include "server/api_error.h"

namespace hearth::server::tools {
namespace {

std::string refusal(const std::string& json) {
  try {
    read_tools(Json::parse(json));
  } catch (const ApiError& e) {
    EXPECT_EQ(e.status, 400);
    EXPECT_TRUE(std::string(e.what()).starts_with(e.param + ": "));
    return e.what();
  }
  return "";
}

TEST(tool, is_read_from_a_request) {
  const std::vector<Tool> tools = read_tools(Json::parse(R"([
      {"type": "function", "function": {"name": "a.b", "description": null, "parameters": null, "strict": true}},
      {"function": {"name": "c-d/e", "description": "does", "parameters": {"properties": {}}}}])"));
  ASSERT_EQ(tools.size(), 2u);
  EXPECT_EQ(tools[0].name, "a.b");
  EXPECT_EQ(tools[0].parameters.dump(), R"({"type":"object","properties":{},"additionalProperties":false})");
  EXPECT_EQ(tools[1].description, "does");
  EXPECT_EQ(tools[1].parameters["type"], "object");
  EXPECT_EQ(tools[1].path, "tools[1].function.parameters");
  EXPECT_EQ(&find_tool(tools, "c-d/e"), &tools[1]);
  EXPECT_THROW(find_tool(tools, "x"), ApiError);
}

TEST(tool, is_refused_with_the_path_of_what_is_wrong) {
  EXPECT_EQ(refusal("{}"), "tools: expected a list of tools");
  EXPECT_EQ(refusal("[1]"), "tools[0]: expected an object");
  EXPECT_EQ(refusal(R"([{"type": "retrieval"}])"), "tools[0].type: got 'retrieval', expected 'function'");
  EXPECT_EQ(refusal(R"([{"type": "function"}])"), "tools[0].function: expected an object with a name");
  EXPECT_EQ(refusal(R"([{"function": {"name": 5}}])"), "tools[0].function.name: expected a string");
  EXPECT_EQ(refusal(R"([{"function": {"name": "a b"}}])"),
            "tools[0].function.name: got 'a b', expected 1 to 128 of the characters A-Z a-z 0-9 _ . / -");
  EXPECT_EQ(refusal(R"([{"function": {"name": "a"}}, {"function": {"name": "a"}}])"),
            "tools[1].function.name: two tools have the name 'a'");
  EXPECT_EQ(refusal(R"([{"function": {"name": "a", "parameters": []}}])"),
            "tools[0].function.parameters: expected a JSON schema, an object");
  EXPECT_EQ(refusal(R"([{"function": {"name": "a", "parameters": {"type": "string"}}}])"),
            "tools[0].function.parameters: expected a schema with \"type\": \"object\", because arguments have names");
}

}  // namespace
}  // namespace hearth::server::tools
