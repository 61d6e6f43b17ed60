#include "server/api/anthropic_request.h"

#include "server/api/text_api_test.h"

namespace hearth::server::test {
namespace {

AnthropicRequest read(Json body, const ThinkingControl& thinking = {}, bool counting = false) {
  if (!body.contains("messages")) body["messages"] = {{{"role", "user"}, {"content", "Hi"}}};
  if (!body.contains("max_tokens") && !counting) body["max_tokens"] = 4000;
  return anthropic_request(Fields(body), thinking, {}, counting);
}

std::string refusal(const Json& body, const ThinkingControl& thinking = {}) {
  return refusal_of([&] { read(body, thinking); });
}

Json messages(const char* text) { return {{"messages", Json::parse(text)}}; }

TEST(AnthropicRequest, messages_become_openais) {
  Json body = messages(R"([
    {"role": "user", "content": [{"type": "text", "text": "Weather", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "now?"}]},
    {"role": "assistant", "content": [
      {"type": "thinking", "thinking": "Two places.", "signature": "unsigned"},
      {"type": "text", "text": "I look."},
      {"type": "tool_use", "id": "t1", "name": "weather", "input": {"at": "Oslo"}},
      {"type": "tool_use", "id": "t2", "name": "weather", "input": {}}]},
    {"role": "user", "content": [
      {"type": "tool_result", "tool_use_id": "t1", "content": "rain"},
      {"type": "tool_result", "tool_use_id": "t2", "is_error": true, "content": [{"type": "text", "text": "no"}, {"type": "text", "text": "net"}]},
      {"type": "text", "text": "And?"}]},
    {"role": "user", "content": "Quick."}])");
  body["system"] = Json::parse(R"([{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be kind."}])");
  EXPECT_EQ(read(body).chat.messages, Json::parse(R"([
    {"role": "system", "content": "Be brief.\n\nBe kind."},
    {"role": "user", "content": "Weather\nnow?"},
    {"role": "assistant", "content": "I look.", "reasoning_content": "Two places.", "tool_calls": [
      {"id": "t1", "type": "function", "function": {"name": "weather", "arguments": "{\"at\":\"Oslo\"}"}},
      {"id": "t2", "type": "function", "function": {"name": "weather", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "t1", "name": "weather", "content": "rain"},
    {"role": "tool", "tool_call_id": "t2", "name": "weather", "content": "Error: no\nnet"},
    {"role": "user", "content": "And?\nQuick."}])"));
  EXPECT_FALSE(read(body).chat.continue_final_message);
}

TEST(AnthropicRequest, the_assistants_last_message_is_continued) {
  const AnthropicRequest r = read(messages(R"([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hel"}])"));
  EXPECT_TRUE(r.chat.continue_final_message);
  EXPECT_EQ(r.chat.messages.back()["content"], "Hel");
  EXPECT_EQ(read({{"system", "Be brief."}}).chat.messages[0]["content"], "Be brief.");
}

TEST(AnthropicRequest, tools_and_their_choice) {
  const Json tools = Json::parse(R"([{"name": "a", "description": "A.", "input_schema": {"type": "object"}, "cache_control": {}},
                                     {"type": "custom", "name": "b", "input_schema": {"type": "object"}}])");
  AnthropicRequest r = read({{"tools", tools}});
  EXPECT_EQ(*r.chat.tools, Json::parse(R"([
    {"type": "function", "function": {"name": "a", "description": "A.", "parameters": {"type": "object"}}},
    {"type": "function", "function": {"name": "b", "parameters": {"type": "object"}}}])"));
  EXPECT_EQ(r.chat.tool_choice.kind, ToolChoice::Kind::automatic);
  EXPECT_TRUE(r.chat.parallel_tool_calls);
  const auto choose = [&](const Json& choice) { return read({{"tools", tools}, {"tool_choice", choice}}).chat; };
  EXPECT_EQ(choose({{"type", "any"}}).tool_choice.kind, ToolChoice::Kind::required);
  EXPECT_EQ(choose({{"type", "none"}}).tool_choice.kind, ToolChoice::Kind::none);
  EXPECT_EQ(choose({{"type", "tool"}, {"name", "b"}}).tool_choice.name, "b");
  EXPECT_EQ(choose({{"type", "tool"}, {"name", "b"}}).tool_choice.kind, ToolChoice::Kind::named);
  EXPECT_FALSE(choose({{"type", "auto"}, {"disable_parallel_tool_use", true}}).parallel_tool_calls);
}

TEST(AnthropicRequest, options) {
  const AnthropicRequest r = read({{"max_tokens", 9},
                                   {"temperature", 0.5},
                                   {"stop_sequences", {"\n", "END"}},
                                   {"stream", true},
                                   {"metadata", {{"user_id", "u"}}},
                                   {"service_tier", "auto"},
                                   {"something_new", 1}});
  EXPECT_EQ(r.chat.generation.max_tokens, 9);
  EXPECT_EQ(r.chat.generation.sampling.temperature, 0.5);
  EXPECT_EQ(r.chat.generation.stop, (std::vector<std::string>{"\n", "END"}));
  EXPECT_TRUE(r.stream);
  const Json schema{{"type", "object"}};
  const AnthropicRequest formed =
      read({{"output_config", {{"format", {{"type", "json_schema"}, {"schema", schema}}}, {"effort", "high"}}}});
  EXPECT_EQ(formed.chat.format.kind, ResponseFormat::Kind::schema);
  EXPECT_EQ(formed.chat.format.schema, schema);
  EXPECT_FALSE(read(Json::object(), {}, true).chat.generation.max_tokens) << "count_tokens has none";
}

TEST(AnthropicRequest, thinking_as_the_template_allows) {
  const ThinkingControl toggle{.toggle = "enable_thinking", .thinks = true}, budget{.budget = true, .thinks = true},
      levels{.effort = true, .thinks = true};
  const Json enabled{{"thinking", {{"type", "enabled"}, {"budget_tokens", 2000}}}}, disabled{{"thinking", {{"type", "disabled"}}}},
      adaptive{{"thinking", {{"type", "adaptive"}}}};
  EXPECT_EQ(read(enabled, toggle).chat.template_variables, Json({{"enable_thinking", true}}));
  EXPECT_EQ(read(disabled, toggle).chat.template_variables, Json({{"enable_thinking", false}}));
  EXPECT_EQ(read(enabled, budget).chat.template_variables, Json({{"thinking_budget", 2000}}));
  EXPECT_EQ(read(adaptive).chat.template_variables, Json::object());
  EXPECT_EQ(read(disabled).chat.template_variables, Json::object());
  EXPECT_EQ(read({{"output_config", {{"effort", "low"}}}}, levels).chat.template_variables, Json({{"reasoning_effort", "low"}}));
  EXPECT_TRUE(read(enabled, toggle).shows_thinking);
  EXPECT_FALSE(read({{"thinking", {{"type", "adaptive"}, {"display", "omitted"}}}}).shows_thinking);
  EXPECT_EQ(refusal(enabled), "400 thinking.type: this model's chat template knows no reasoning");
  EXPECT_EQ(refusal(disabled, levels), "400 thinking.type: this model's chat template cannot turn reasoning off");
  EXPECT_EQ(refusal({{"thinking", {{"type", "enabled"}}}}, toggle), "400 thinking.budget_tokens: is missing, expected an integer");
  EXPECT_EQ(refusal({{"thinking", {{"type", "enabled"}, {"budget_tokens", 4000}}}}, toggle),
            "400 thinking.budget_tokens: 4000, expected less than max_tokens, 4000");
}

TEST(AnthropicRequest, what_is_wrong_is_named) {
  struct Case {
    const char *body, *message;
  };
  for (const Case& c : std::initializer_list<Case>{
           {R"({"max_tokens": null})", "max_tokens: is missing"},
           {R"({"max_tokens": 0})", "max_tokens: 0, expected an integer from 1"},
           {R"({"messages": []})", "messages: is empty"},
           {R"({"messages": [{"role": "robot", "content": "x"}]})", "messages[0].role: 'robot', expected one of user, assistant"},
           {R"({"messages": [{"role": "user"}]})", "messages[0].content: is missing"},
           {R"({"messages": [{"role": "user", "content": 3}]})", "messages[0].content: expected a text or a list of blocks"},
           {R"({"messages": [{"role": "user", "content": [{"type": "image", "source": {}}]}]})",
            "messages[0].content[0].type: 'image', but this model takes text only"},
           {R"({"messages": [{"role": "user", "content": [{"type": "document", "source": {}}]}]})",
            "messages[0].content[0].type: 'document', but this model takes text only"},
           {R"({"messages": [{"role": "user", "content": [{"type": "tool_use"}]}]})",
            "messages[0].content[0].type: 'tool_use' cannot be part of a message of the user"},
           {R"({"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x"}]}]})",
            "messages[0].content[0].tool_use_id: 'x' is the id of no tool_use"},
           {R"({"messages": [{"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}]}]})",
            "messages[0].content[0].type: 'redacted_thinking' can be read only by"},
           {R"({"messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "x", "name": "a"}]}]})",
            "messages[0].content[0].input: is missing"},
           {R"({"messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "x", "name": "a", "input": {}}]}]})",
            "messages: the last message calls tools"},
           {R"({"system": [{"type": "image"}]})", "system[0].type: 'image', but this model takes text only"},
           {R"({"tools": [{"type": "web_search_20250305", "name": "web_search"}]})", "tools[0].type: 'web_search_20250305', but hearth"},
           {R"({"tools": [{"name": "a"}]})", "tools[0].input_schema: is missing"},
           {R"({"tool_choice": {"type": "any"}})", "tool_choice: there are no tools"},
           {R"({"tool_choice": {"type": "some"}})", "tool_choice.type: 'some', expected one of auto"},
           {R"({"tools": [{"name": "a", "input_schema": {}}], "tool_choice": {"type": "tool", "name": "b"}})",
            "tool_choice.name: 'b' is none of the tools"},
           {R"({"temperature": 1.5})", "temperature: 1.5, expected a number from 0 to 1"},
           {R"({"stop_sequences": [""]})", "stop_sequences: an empty stop sequence"},
           {R"({"stop_sequences": "x"})", "stop_sequences: a text, expected a list"},
           {R"({"thinking": {"type": "deep"}})", "thinking.type: 'deep', expected one of enabled"},
           {R"({"output_config": {"effort": "low"}})", "output_config.effort: 'low', but the model's chat template has no such setting"},
           {R"({"output_config": {"format": {"type": "xml"}}})", "output_config.format.type: 'xml'"},
           {R"({"mcp_servers": [{"url": "x"}]})", "mcp_servers: hearth calls no servers"},
           {R"({"container": "c"})", "container: hearth has no containers"},
           {R"({"metadata": 3})", "metadata is 3, expected an object"}})
    EXPECT_TRUE(refusal(Json::parse(c.body)).starts_with(std::string("400 ") + c.message))
        << c.body << ": " << refusal(Json::parse(c.body));
}

}  // namespace
}  // namespace hearth::server::test
