#include "server/tools/answer_grammar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/error.h"
#include "server/api_error.h"
#include "server/tools/answer_cases_test.h"
#include "server/tools/answer_reader_test.h"
#include "text/grammar/grammar.h"
#include "text/grammar/grammar_test.h"
#include "text/grammar/json_schema.h"

namespace hearth::server::tools {
namespace {

using test::Answer;
using text::grammar::Grammar;
using text::grammar::test::random_text;

// Whether the arguments are valid for the schemas of some_tools(), by hand.
bool valid(const std::string& name, const std::string& arguments) {
  const Json a = Json::parse(arguments, nullptr, false);
  if (!a.is_object()) return false;
  const auto only = [&](const std::set<std::string>& names) {
    return std::ranges::all_of(a.items(), [&](const auto& member) { return names.contains(member.key()); });
  };
  if (name == "get_time") return a.empty();
  if (name == "get_weather") {
    const auto days = a.find("days");
    const bool in_range =
        days == a.end() || (days->is_number() && *days >= 1 && *days <= 14 && days->get<double>() == std::floor(days->get<double>()));
    return only({"city", "days"}) && a.contains("city") && a["city"].is_string() && in_range;
  }
  if (name != "note.add" || !only({"text", "tags", "level", "place", "urgent"})) return false;
  if (!a.contains("text") || !a["text"].is_string() || !a.contains("level") || (a["level"] != "low" && a["level"] != "high")) return false;
  size_t characters = 0;
  for (const char c : a["text"].get<std::string>()) characters += (uint8_t(c) & 0xc0) != 0x80;
  if (characters > 12) return false;
  if (a.contains("urgent") && !a["urgent"].is_boolean()) return false;
  if (a.contains("place") && !a["place"].is_string() && !a["place"].is_null()) return false;
  return !a.contains("tags") || (a["tags"].is_array() && std::ranges::all_of(a["tags"], [](const Json& t) { return t.is_string(); }));
}

void expect_valid(const Answer& answer, const std::vector<Tool>& tools, const std::string& text) {
  for (const test::Call& call : answer.calls) {
    EXPECT_TRUE(call.complete) << text;
    EXPECT_TRUE(std::ranges::any_of(tools, [&](const Tool& t) { return t.name == call.name; })) << text;
    EXPECT_TRUE(valid(call.name, call.arguments)) << call.name << " " << call.arguments << "\nin: " << text;
  }
}

// Texts drawn uniformly from the masks are calls of these tools with valid arguments, and nothing else.
TEST(answer_grammar, required_calls_are_read_back) {
  const std::vector<Tool> tools = test::some_tools();
  for (ToolFormat format : formats()) {
    format.arguments_first = format.name == "tool_call_json";
    for (const bool parallel : {true, false}) {
      const Grammar grammar(answer_grammar(format, {}, {.tools = tools, .required = true, .parallel = parallel}));
      std::map<std::string, int> seen;
      size_t most = 0;
      for (unsigned seed = 0; seed < 30; ++seed) {
        const auto text = random_text(grammar, seed, 40);
        if (!text) continue;
        const Answer answer = test::read(format, {}, {.tools = tools}, {*text});
        expect_valid(answer, tools, *text);
        EXPECT_EQ(answer.text, "") << format.name << ": " << *text;
        EXPECT_GE(answer.calls.size(), 1u) << format.name << ": " << *text;
        most = std::max(most, answer.calls.size());
        for (const test::Call& call : answer.calls) ++seen[call.name];
      }
      EXPECT_EQ(seen.size(), 3u) << format.name;
      if (!parallel) { EXPECT_EQ(most, 1u) << format.name; }
    }
  }
}

TEST(answer_grammar, free_answers_hold_no_other_calls) {
  const std::vector<Tool> tools = test::some_tools();
  for (const ToolFormat& format : formats()) {
    const Grammar grammar(answer_grammar(format, {}, {.tools = tools}));
    for (unsigned seed = 0; seed < 20; ++seed) {
      const auto text = random_text(grammar, seed, 30);
      if (!text) continue;
      expect_valid(test::read(format, {}, {.tools = tools}, {*text}), tools, *text);
    }
  }
}

// What models write is possible, and what only readers understand is not.
TEST(answer_grammar, allows_what_models_write) {
  const std::vector<Tool> tools = test::some_tools();
  for (const test::Case& c : test::cases()) {
    const Grammar grammar(answer_grammar(format_named(c.format), {}, {.tools = tools}));
    std::string answer = c.answer;
    if (answer.ends_with("<|call|>")) answer.resize(answer.size() - 8);  // ends the answer
    EXPECT_EQ(grammar.matches(answer), c.usual) << c.format << ": " << c.answer;
  }
}

// By hand: what must match, and what must not.
TEST(answer_grammar, allows_text_and_then_calls) {
  const std::vector<Tool> tools = test::some_tools();
  const auto grammar_of = [&](const char* format, const AnswerDemand& demand, const Reasoning& reasoning = {}) {
    return Grammar(answer_grammar(format_named(format), reasoning, demand));
  };
  const std::string call = "<tool_call>\n{\"name\": \"get_time\", \"arguments\": {}}\n</tool_call>";
  const Grammar free = grammar_of("tool_call_json", {.tools = tools});
  EXPECT_TRUE(free.matches("Just <text>."));
  EXPECT_TRUE(free.matches(""));
  EXPECT_TRUE(free.matches("First this. " + call + "\n" + call));
  EXPECT_FALSE(free.matches("<tool_call>"));
  EXPECT_FALSE(free.matches("<tool_call>\n{\"name\": \"unknown\", \"arguments\": {}}\n</tool_call>"));
  EXPECT_FALSE(free.matches("<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {}}\n</tool_call>"));
  EXPECT_FALSE(free.matches(call + " and more"));
  const Grammar one = grammar_of("tool_call_json", {.tools = tools, .parallel = false});
  EXPECT_TRUE(one.matches("a " + call));
  EXPECT_FALSE(one.matches(call + "\n" + call));
  const Grammar required = grammar_of("tool_call_json", {.tools = tools, .required = true});
  EXPECT_TRUE(required.matches(call + call));
  EXPECT_FALSE(required.matches("a " + call));
  const Grammar named = grammar_of("tool_call_json", {.tools = std::span(tools).subspan(0, 1), .required = true, .parallel = false});
  EXPECT_FALSE(named.matches(call));
  EXPECT_TRUE(named.matches("<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"x\"}}\n</tool_call>"));
}

// Strings between tags are as long as they like, and hold anything but the tag.
TEST(answer_grammar, bounds_parameters_by_their_tags) {
  const std::vector<Tool> tools = read_tools(Json::parse(R"([{"function": {"name": "f", "parameters": {"type": "object", "properties": {
      "a": {"type": "string"}, "b": {"type": "string", "pattern": "^x+$"}, "c": {"type": ["string", "integer"]}}, "required": ["a"]}}}])"));
  const Grammar grammar(answer_grammar(format_named("function_tags"), {}, {.tools = tools, .required = true}));
  const auto call = [](const std::string& parameters) {
    return "<tool_call>\n<function=f>\n" + parameters + "\n</function>\n</tool_call>";
  };
  const auto parameter = [](const std::string& name, const std::string& value) {
    return "<parameter=" + name + ">\n" + value + "\n</parameter>";
  };
  EXPECT_TRUE(grammar.matches(call(parameter("a", "any \"text\" <b> {\n\n"))));
  EXPECT_FALSE(grammar.matches(call(parameter("a", "x</parameter>y"))));
  EXPECT_TRUE(grammar.matches(call(parameter("a", "") + "\n" + parameter("b", "xx"))));
  EXPECT_FALSE(grammar.matches(call(parameter("a", "") + "\n" + parameter("b", "xy"))));
  EXPECT_FALSE(grammar.matches(call(parameter("b", "xx"))));
  for (const char* value : {"plain words", "17", "\"17\"", "tru", "éa"})
    EXPECT_TRUE(grammar.matches(call(parameter("a", "") + parameter("c", value)))) << value;
  for (const char* value : {"true", "True", " None", "[1]", "1x", "0.5", "-1.5", "\"x"})
    EXPECT_FALSE(grammar.matches(call(parameter("a", "") + parameter("c", value)))) << value;
}

TEST(answer_grammar, tells_calls_without_marks_from_text) {
  const std::vector<Tool> tools = test::some_tools();
  const Grammar free(answer_grammar(format_named("bare_json"), {}, {.tools = tools}));
  EXPECT_TRUE(free.matches("{\"name\": \"get_time\", \"parameters\": {}}"));
  EXPECT_TRUE(free.matches("{\"type\": \"function\", \"name\": \"get_time\", \"parameters\": {}}"));
  EXPECT_TRUE(free.matches("<|python_tag|>{\"name\": \"get_time\", \"parameters\": {}}; {\"name\": \"get_time\", \"parameters\": {}}"));
  EXPECT_TRUE(free.matches("{\"city\": \"Ulm\", \"name\": \"x\"} and [\"name\"]"));
  EXPECT_TRUE(free.matches("Look: {\"name\": \"x\"}"));
  EXPECT_FALSE(free.matches(" {\n \"name\": \"x\"}"));
  EXPECT_FALSE(free.matches("{\"type\" : \"function\", \"name\": \"x\"}"));
  EXPECT_FALSE(free.matches("<|python_tag|>print(1)"));
}

TEST(answer_grammar, begins_behind_the_reasoning) {
  const std::vector<Tool> tools = test::some_tools();
  const Reasoning think{.open = "<think>", .close = "</think>"};
  const ToolFormat& format = format_named("tool_call_json");
  const std::string call = "<tool_call>\n{\"name\": \"get_time\", \"arguments\": {}}\n</tool_call>";
  const Grammar outside(answer_grammar(format, think, {.tools = tools, .required = true}));
  EXPECT_TRUE(outside.matches("<think>\nLet <tool_call> be.\n</think>\n\n" + call));
  EXPECT_TRUE(outside.matches(call));
  EXPECT_FALSE(outside.matches("Let me.</think>" + call));
  const Grammar inside(answer_grammar(format, think, {.tools = tools, .required = true, .inside_reasoning = true}));
  EXPECT_TRUE(inside.matches("Let me.</think>" + call));
  EXPECT_FALSE(inside.matches(call));
  const auto number = text::grammar::json_schema(Json::parse(R"({"type": "integer"})"));
  const Grammar form(answer_grammar(format, think, {.text = number}));
  EXPECT_TRUE(form.matches("<think>five</think>\n5"));
  EXPECT_TRUE(form.matches("5"));
  EXPECT_FALSE(form.matches("<think>five</think>five"));
  const Grammar both(answer_grammar(format, think, {.tools = tools, .text = number}));
  EXPECT_TRUE(both.matches("<think>five</think>5") && both.matches(call));
  EXPECT_FALSE(both.matches("five") || both.matches("5" + call));
  const Grammar channels(answer_grammar(format_named("channels"), {.channels = true}, {.text = number}));
  EXPECT_TRUE(channels.matches("<|channel|>analysis<|message|>five<|end|><|start|>assistant<|channel|>final<|message|>5"));
  EXPECT_FALSE(channels.matches("<|channel|>final<|message|>five"));
}

// Reasoning, text and calls together, as the reader separates them.
TEST(answer_grammar, agrees_with_the_reader_about_reasoning) {
  const std::vector<Tool> tools = test::some_tools();
  const Reasoning think{.open = "<think>", .close = "</think>", .silent = {"<response>", "</response>"}};
  for (const char* name : {"tool_call_json", "function_tags", "bare_json", "channels"}) {
    const ToolFormat& format = format_named(name);
    const Reasoning reasoning = format.kind == ToolFormat::Kind::channels ? Reasoning{.channels = true} : think;
    const bool inside = !reasoning.channels;
    const Grammar grammar(answer_grammar(format, reasoning, {.tools = tools, .required = true, .inside_reasoning = inside}));
    for (unsigned seed = 0; seed < 12; ++seed) {
      const auto text = random_text(grammar, seed, 30);
      if (!text) continue;
      const Answer answer = test::read_every_way(format, reasoning, {.tools = tools, .inside_reasoning = inside}, *text);
      expect_valid(answer, tools, *text);
      EXPECT_EQ(answer.text, "") << name << ": " << *text;
      EXPECT_GE(answer.calls.size(), 1u) << name << ": " << *text;
    }
  }
}

TEST(answer_grammar, takes_many_tools) {
  Json list = Json::array();
  for (int i = 0; i < 58; ++i) {
    const Json parameters = {
        {"type", "object"},
        {"properties", {{"path", {{"type", "string"}, {"maxLength", 20}}}, {"line" + std::to_string(i), {{"type", "integer"}}}}},
        {"required", {"path"}},
        {"additionalProperties", false}};
    list.push_back({{"type", "function"}, {"function", {{"name", "tool_" + std::to_string(i)}, {"parameters", parameters}}}});
  }
  const std::vector<Tool> tools = read_tools(list);
  for (const char* name : {"tool_call_json", "function_tags", "bracketed_names", "bare_json"}) {
    const ToolFormat& format = format_named(name);
    const Grammar grammar(answer_grammar(format, {}, {.tools = tools, .required = true, .parallel = false}));
    std::set<std::string> seen;
    for (unsigned seed = 0; seed < 8; ++seed) {
      const auto text = random_text(grammar, seed, 20);
      if (!text) continue;
      for (const test::Call& call : test::read(format, {}, {.tools = tools}, {*text}).calls) {
        EXPECT_TRUE(call.complete) << *text;
        EXPECT_TRUE(Json::parse(call.arguments).contains("path")) << *text;
        seen.insert(call.name);
      }
    }
    EXPECT_GT(seen.size(), 3u) << name;
  }
}

TEST(answer_grammar, refuses_schemas_with_their_path) {
  const auto refusal = [](const char* format, const std::string& parameters) {
    Tool tool{.name = "f", .description = "", .parameters = Json::parse(parameters), .path = "tools[2].function.parameters"};
    try {
      answer_grammar(format_named(format), {}, {.tools = std::span(&tool, 1)});
    } catch (const ApiError& e) {
      EXPECT_EQ(e.status, 400);
      EXPECT_EQ(e.param, tool.path);
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(
      refusal("function_tags", R"({"type": "object", "anyOf": []})"),
      "tools[2].function.parameters: schema: #: anyOf: this model writes each argument on its own, expected only properties and required");
  EXPECT_TRUE(refusal("tool_call_json", R"({"type": "object", "properties": {"a": {"$dynamicRef": "#x"}}})")
                  .starts_with("tools[2].function.parameters: schema: "));
  EXPECT_TRUE(refusal("channels", R"({"type": "object", "properties": {"a": {"$dynamicRef": "#x"}}})")
                  .starts_with("tools[2].function.parameters: schema: "));
  EXPECT_EQ(refusal("function_tags", R"({"type": "object", "properties": {"a b": {}}})"),
            "tools[2].function.parameters: schema: #: properties: this model writes names between tags, expected none like 'a b'");
  EXPECT_EQ(
      refusal("function_tags", R"({"type": "object", "properties": {"a": {"type": "string", "format": "date"}}, "required": ["a", "b"]})"),
      "");
  EXPECT_THROW(answer_grammar(format_named("channels"), {}, {.required = true}), UsageError);
}

}  // namespace
}  // namespace hearth::server::tools
