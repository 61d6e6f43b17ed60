#include "server/tools/tool_prompt.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/files/file.h"
#include "server/api_error.h"
#include "server/tools/answer_reader_test.h"
#include "text/template/chat_template.h"

namespace hearth::server::tools {
namespace {

Render renderer(const std::string& name) {
  const std::filesystem::path file = std::filesystem::path(HEARTH_SOURCE_DIR) / "src/text/template/golden/templates" / (name + ".jinja");
  return [chat = text::ChatTemplate({{"default", read_file(file)}}, {{"bos_token", "<s>"}, {"eos_token", "</s>"}}, name)](
             const Json& messages, const Json& tools) {
    text::ChatRequest request{.messages = messages.dump(), .add_generation_prompt = true};
    if (!tools.is_null()) request.tools = tools.dump();
    return chat.render(request);
  };
}

std::string supports(const std::string& name) {
  const TemplateSupport s = template_support(renderer(name));
  std::string all;
  const auto add = [&](bool has, const char* what) { all += has ? std::string(all.empty() ? "" : " ") + what : ""; };
  add(s.tools, "tools"), add(s.system_tools, "system_tools"), add(s.calls, "calls"), add(s.results, "results");
  add(s.text_arguments, "text_arguments"), add(s.system, "system");
  return all;
}

TEST(tool_prompt, finds_what_templates_support) {
  EXPECT_EQ(supports("qwen25_tools"), "tools calls results system");
  EXPECT_EQ(supports("mistral_v3_tools"), "tools calls results system");
  EXPECT_EQ(supports("llama31_tools"), "tools calls results system");
  EXPECT_EQ(supports("deepseek_r1"), "calls results system");
  EXPECT_EQ(supports("phi4_mini"), "system_tools results system");
  EXPECT_EQ(supports("gemma"), "");
  EXPECT_EQ(supports("llama2"), "system");
}

TEST(tool_prompt, sees_that_arguments_must_be_text) {
  const Render joins = [](const Json& messages, const Json&) {
    std::string all;
    for (const Json& m : messages)
      if (m.contains("tool_calls")) all += m["tool_calls"][0]["function"]["arguments"].get<std::string>();
    return all;
  };
  EXPECT_TRUE(template_support(joins).text_arguments);
  const Render prints = [](const Json& messages, const Json&) {
    std::string all;
    for (const Json& m : messages) {
      if (!m.contains("tool_calls")) continue;
      const Json& arguments = m["tool_calls"][0]["function"]["arguments"];
      all += arguments.is_string() ? arguments.get<std::string>() : "{'a': 'probe_q7x'}";
    }
    return all;
  };
  EXPECT_TRUE(template_support(prints).text_arguments);
}

// What the prompt shows to the model is what the reader reads.
TEST(tool_prompt, writes_calls_that_readers_understand) {
  const std::vector<Tool> tools = test::some_tools();
  const Json arguments = {{"text", "a \"b\"\n}"}, {"tags", {"x", "y: z"}}, {"level", "low"}, {"urgent", false}};
  for (const ToolFormat& format : formats()) {
    const test::Answer answer = test::read_every_way(format, {}, {.tools = tools}, written_call(format, "note.add", arguments));
    EXPECT_EQ(answer.text, "") << format.name;
    ASSERT_EQ(answer.calls.size(), 1u) << format.name;
    EXPECT_EQ(answer.calls[0].name, "note.add") << format.name;
    EXPECT_EQ(Json::parse(answer.calls[0].arguments), arguments) << format.name;
  }
}

const Json& tool_list() {
  static const Json list = Json::parse(R"([{"type": "function", "function": {"name": "get_time", "description": "The \"time\""}}])");
  return list;
}

TEST(tool_prompt, describes_tools_where_the_template_does_not) {
  const std::vector<Tool> tools = read_tools(tool_list());
  const ToolFormat format = find_format("");
  const std::string prompt = tool_prompt(format, tools);
  EXPECT_NE(prompt.find(R"({"name": "get_time", "description": "The \"time\"", "parameters": {"type": "object", "properties": {}, )"),
            std::string::npos);
  EXPECT_NE(prompt.find("<tool_call>\n{\"name\": \"example_tool\", \"arguments\": {\"example_argument\": \"value\", "), std::string::npos)
      << prompt;

  const Json messages = Json::parse(R"([{"role": "user", "content": "Hi"}])");
  const auto prepared = [&](const TemplateSupport& support, const Json& m, const ToolFormat& f) {
    return prepare_chat(f, support, m, tool_list(), tools);
  };
  PreparedChat chat = prepared({.system = true}, messages, format);
  EXPECT_FALSE(chat.tools);
  EXPECT_EQ(chat.messages.size(), 2u);
  EXPECT_EQ(chat.messages[0]["role"], "system");
  EXPECT_EQ(chat.messages[0]["content"], prompt);
  chat = prepared({}, messages, format);  // without system messages
  EXPECT_EQ(chat.messages[0]["content"], prompt + "\n\nHi");
  chat = prepared({.system = true}, Json::parse(R"([{"role": "system", "content": [{"type": "text", "text": "Be brief."}]}])"), format);
  EXPECT_EQ(chat.messages[0]["content"][1]["text"], "\n\n" + prompt);
  chat = prepared({.system = true}, Json::parse(R"([{"role": "system", "content": "Be brief."}])"), format);
  EXPECT_EQ(chat.messages[0]["content"], "Be brief.\n\n" + prompt);

  const ToolFormat& known = format_named("tool_call_json");
  chat = prepared({.tools = true, .system = true}, messages, known);
  EXPECT_TRUE(chat.tools);
  EXPECT_EQ(chat.messages, messages);
  EXPECT_FALSE(prepared({.tools = true, .system = true}, messages, format).tools);
  chat = prepared({.system_tools = true, .system = true}, messages, known);
  EXPECT_EQ(Json::parse(chat.messages[0]["tools"].get<std::string>()), tool_list());
}

TEST(tool_prompt, converts_earlier_calls_and_results) {
  const Json messages = Json::parse(R"([
      {"role": "user", "content": "When?"},
      {"role": "assistant", "content": null, "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "get_time", "arguments": "{\"zone\":\"CET\"}"}},
        {"id": "call_2", "type": "function", "function": {"name": "get_time", "arguments": ""}}]},
      {"role": "tool", "tool_call_id": "call_1", "content": "12:00"},
      {"role": "tool", "tool_call_id": "call_2", "content": [{"type": "text", "text": "11:00"}]}])");
  const auto prepared = [&](const TemplateSupport& support) { return prepare_chat(find_format(""), support, messages, {}, {}).messages; };
  Json chat = prepared({.calls = true, .results = true});
  EXPECT_EQ(chat[1]["tool_calls"][0]["function"]["arguments"], Json::parse(R"({"zone": "CET"})"));
  EXPECT_EQ(chat[1]["tool_calls"][1]["function"]["arguments"], Json::object());
  EXPECT_EQ(chat[3], messages[3]);
  chat = prepared({.calls = true, .results = true, .text_arguments = true});
  EXPECT_EQ(chat[1]["tool_calls"][0]["function"]["arguments"], R"({"zone": "CET"})");
  chat = prepared({});
  ASSERT_EQ(chat.size(), 3u);
  EXPECT_EQ(chat[1]["content"],
            "<tool_call>\n{\"name\": \"get_time\", \"arguments\": {\"zone\": \"CET\"}}\n</tool_call>\n"
            "<tool_call>\n{\"name\": \"get_time\", \"arguments\": {}}\n</tool_call>");
  EXPECT_FALSE(chat[1].contains("tool_calls"));
  EXPECT_EQ(
      chat[2].dump(),
      Json({{"role", "user"}, {"content", "<tool_response>\n12:00\n</tool_response>\n<tool_response>\n11:00\n</tool_response>"}}).dump());
}

TEST(tool_prompt, refuses_broken_messages) {
  const auto refusal = [](const std::string& messages) {
    try {
      prepare_chat(find_format(""), {}, Json::parse(messages), {}, {});
    } catch (const ApiError& e) {
      EXPECT_EQ(e.status, 400);
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal("[1]"), "messages[0]: expected an object");
  EXPECT_EQ(refusal(R"([{"tool_calls": 1}])"), "messages[0].tool_calls: expected a list");
  EXPECT_EQ(refusal(R"([{"tool_calls": [{"function": {}}]}])"), "messages[0].tool_calls[0].function: expected an object with a name");
  EXPECT_EQ(refusal(R"([{"tool_calls": [{"function": {"name": "f", "arguments": "[1]"}}]}])"),
            "messages[0].tool_calls[0].function.arguments: expected a JSON object, as text");
}

}  // namespace
}  // namespace hearth::server::tools
