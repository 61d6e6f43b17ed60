#include "server/tools/tool_format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "core/files/file.h"

namespace hearth::server::tools {
namespace {

std::string golden_template(const std::string& name) {
  return read_file(std::filesystem::path(HEARTH_SOURCE_DIR) / "src/text/template/golden/templates" / (name + ".jinja"));
}

TEST(tool_format, is_found_from_a_template) {
  const std::pair<const char*, const char*> templates[] = {
      {"hermes_tools", "tool_call_json"}, {"qwen25_tools", "tool_call_json"},     {"qwen3_thinking", "tool_call_json"},
      {"llama31_tools", "bare_json"},     {"mistral_v3_tools", "bracketed_list"}, {"mistral_nemo", "bracketed_list"},
      {"deepseek_r1", "fenced_calls"},    {"command_r_tools", "action_fence"},    {"phi4_mini", "tool_call_list"},
      {"granite", "tool_call_list"},
  };
  for (const auto& [name, format] : templates) {
    const ToolFormat found = find_format(golden_template(name));
    EXPECT_EQ(found.name, format) << name;
    EXPECT_TRUE(found.known) << name;
  }
  for (const char* name : {"chatml", "gemma", "llama2", "zephyr", "phi3"}) {
    const ToolFormat found = find_format(golden_template(name));
    EXPECT_EQ(found.name, "tool_call_json") << name;
    EXPECT_FALSE(found.known) << name;
  }
}

// The words by which published templates are told apart.
TEST(tool_format, is_found_from_its_marks) {
  const std::pair<const char*, const char*> sources[] = {
      {"<|start|>assistant<|channel|>final<|message|>", "channels"},
      {"'<tool_call>\\n<function=' + call.name + '>\\n'", "function_tags"},
      {"<tool_call>{name}\\n<arg_key>", "key_value_tags"},
      {"'<seed:tool_call>' '<function='", "seed_function_tags"},
      {"'<minimax:tool_call>'", "invoke_tags"},
      {"'<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>' + name + '<｜tool▁sep｜>'", "separated_calls"},
      {"<|im_system|>tool_declare<|im_middle|>", "counted_calls"},
      {"<|tool_calls_section_begin|>", "counted_calls"},
      {"<|START_ACTION|>[", "action_list"},
      {"'[TOOL_CALLS]' + name + '[ARGS]' + arguments", "bracketed_names"},
      {"<TOOLCALL>[", "toolcall_list"},
      {"<tool_calls>[", "tool_calls_list"},
      {"functools[", "functools_list"},
      {"respond only with <|tool_call|> followed by a JSON list", "tool_call_list"},
      {"<|start_of_role|>assistant <tool_call>", "tool_call_json"},
      {"<|action_start|><|plugin|>", "plugin_action"},
      {"<function=example>{\"a\": 1}</function> <|python_tag|>", "function_json"},
      {"<|start_header_id|>ipython<|end_header_id|>", "bare_json"},
  };
  for (const auto& [source, format] : sources) EXPECT_EQ(find_format(source).name, format) << source;
  EXPECT_FALSE(find_format("<tool_call>{\"name\": ").arguments_first);
  EXPECT_TRUE(find_format("<tool_call>\n{\"arguments\": <args-dict>, \"name\": <function-name>}").arguments_first);
}

TEST(tool_format, names_are_distinct) {
  std::set<std::string_view> names;
  for (const ToolFormat& format : formats()) {
    EXPECT_TRUE(names.insert(format.name).second) << format.name;
    EXPECT_EQ(format_named(format.name).open, format.open);
  }
  EXPECT_THROW(format_named("none"), std::exception);
}

TEST(tool_format, finds_the_marks_of_reasoning) {
  EXPECT_EQ(find_reasoning(golden_template("qwen3_thinking")).open, "<think>");
  EXPECT_EQ(find_reasoning(golden_template("deepseek_r1")).close, "</think>");
  EXPECT_TRUE(find_reasoning(golden_template("llama31_tools")).none());
  EXPECT_EQ(find_reasoning("<seed:think> <think>").open, "<seed:think>");
  EXPECT_EQ(find_reasoning("[THINK]x[/THINK]").close, "[/THINK]");
  EXPECT_EQ(find_reasoning("content.split('</think>')").open, "<think>");
  EXPECT_EQ(find_reasoning("<|START_THINKING|>").close, "<|END_THINKING|>");
  EXPECT_EQ(find_reasoning("after 'Here is my thought process:'").close, "Here is my response:");
  EXPECT_EQ(find_reasoning("<think></think> <response></response>").silent.size(), 2u);
  EXPECT_TRUE(find_reasoning("<|channel|>analysis<|message|>").channels);
}

TEST(tool_format, sees_that_a_prompt_has_opened_the_reasoning) {
  const Reasoning think{.open = "<think>", .close = "</think>"};
  EXPECT_TRUE(opens_reasoning(think, "<|im_start|>assistant\n<think>\n"));
  EXPECT_TRUE(opens_reasoning({.open = "<seed:think>", .close = "</seed:think>"}, "<seed:think><seed:cot_budget_reflect>"));
  EXPECT_FALSE(opens_reasoning(think, "<|im_start|>assistant\n<think>\n\n</think>\n\n"));
  EXPECT_FALSE(opens_reasoning(think, "Write <think>!<|im_end|>\n<|im_start|>assistant\n"));
  EXPECT_FALSE(opens_reasoning(think, "assistant\n"));
  EXPECT_FALSE(opens_reasoning({.channels = true}, "<|start|>assistant"));
}

TEST(tool_format, knows_which_marks_may_be_special_tokens) {
  const Reasoning think{.open = "[THINK]", .close = "[/THINK]"};
  const std::set<std::string> special = {"[TOOL_CALLS]", "[ARGS]", "</s>"};
  const auto is_special = [&](const std::string& text) { return special.contains(text); };
  EXPECT_TRUE(needs_special_tokens(format_named("bracketed_names"), {}, true, is_special));
  EXPECT_FALSE(needs_special_tokens(format_named("bracketed_names"), think, false, is_special));
  EXPECT_FALSE(needs_special_tokens(format_named("tool_call_json"), think, true, is_special));
  const std::vector<std::string> marks = marks_of(format_named("bracketed_names"), think, true);
  for (const char* mark : {"[TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "[THINK]", "[/THINK]"})
    EXPECT_EQ(std::ranges::count(marks, mark), 1) << mark;
  for (const std::string& mark : marks_of(format_named("plugin_action"), {}, true)) EXPECT_FALSE(mark.empty());
  EXPECT_EQ(marks_of(format_named("channels"), {}, false).size(), 7u);
}

TEST(tool_format, makes_ids_of_calls) {
  std::set<std::string> ids;
  const auto only_letters_and_digits = [](std::string_view text) {
    return std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0; });
  };
  for (int i = 0; i < 200; ++i) {
    const std::string id = new_call_id(format_named("tool_call_json"), "f", i);
    EXPECT_TRUE(id.starts_with("call_") && id.size() == 29 && only_letters_and_digits(id.substr(5))) << id;
    const std::string nine = new_call_id(format_named("bracketed_list"), "f", i);
    EXPECT_TRUE(nine.size() == 9 && only_letters_and_digits(nine)) << nine;
    EXPECT_TRUE(ids.insert(id).second && ids.insert(nine).second);
  }
  EXPECT_EQ(new_call_id(format_named("counted_calls"), "f", 3), "functions.f:3");
}

}  // namespace
}  // namespace hearth::server::tools
