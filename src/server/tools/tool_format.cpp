#include "server/tools/tool_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <random>

#include "core/error.h"

namespace hearth::server::tools {
namespace {

using Kind = ToolFormat::Kind;

struct Row {
  ToolFormat format;
  // A template is of this format if it has all words of one group; a word with "!" in front must be absent. The first row wins.
  std::vector<std::vector<std::string_view>> found_by;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {{.name = "channels", .kind = Kind::channels, .ids = ToolFormat::Ids::prefixed}, {{"<|channel|>", "<|message|>"}}},
      {{.name = "invoke_tags",
        .kind = Kind::parameters,
        .section_open = "<minimax:tool_call>",
        .section_close = "</minimax:tool_call>",
        .open = "<invoke name=\"",
        .close = "</invoke>",
        .gap = "\n",
        .after_name = "\">",
        .key_open = "<parameter name=\"",
        .key_close = "\">",
        .value_close = "</parameter>"},
       {{"<minimax:tool_call>"}}},
      {{.name = "seed_function_tags",
        .kind = Kind::parameters,
        .section_open = "<seed:tool_call>",
        .section_close = "</seed:tool_call>",
        .section_per_call = true,
        .open = "<function=",
        .close = "</function>",
        .gap = "\n",
        .after_name = ">",
        .key_open = "<parameter=",
        .key_close = ">",
        .value_close = "</parameter>"},
       {{"<seed:tool_call>"}}},
      {{.name = "function_tags",
        .kind = Kind::parameters,
        .section_open = "<tool_call>",
        .section_close = "</tool_call>",
        .section_per_call = true,
        .open = "<function=",
        .close = "</function>",
        .gap = "\n",
        .after_name = ">",
        .key_open = "<parameter=",
        .key_close = ">",
        .value_close = "</parameter>",
        .value_lines = true},
       {{"<tool_call>", "<function="}}},
      {{.name = "key_value_tags",
        .kind = Kind::parameters,
        .open = "<tool_call>",
        .close = "</tool_call>",
        .gap = "\n",
        .key_open = "<arg_key>",
        .key_close = "</arg_key>",
        .value_open = "<arg_value>",
        .value_close = "</arg_value>"},
       {{"<tool_call>", "<arg_key>"}}},
      {{.name = "fenced_calls",
        .kind = Kind::named,
        .section_open = "<｜tool▁calls▁begin｜>",
        .section_close = "<｜tool▁calls▁end｜>",
        .open = "<｜tool▁call▁begin｜>",
        .close = "<｜tool▁call▁end｜>",
        .before_name = "function<｜tool▁sep｜>",
        .after_name = "\n```json\n",
        .after_arguments = "\n```"},
       {{"<｜tool▁call▁begin｜>", "```json"}}},
      {{.name = "separated_calls",
        .kind = Kind::named,
        .section_open = "<｜tool▁calls▁begin｜>",
        .section_close = "<｜tool▁calls▁end｜>",
        .open = "<｜tool▁call▁begin｜>",
        .close = "<｜tool▁call▁end｜>",
        .after_name = "<｜tool▁sep｜>"},
       {{"<｜tool▁call▁begin｜>"}, {"<｜tool▁calls▁begin｜>"}}},
      {{.name = "counted_calls",
        .kind = Kind::named,
        .section_open = "<|tool_calls_section_begin|>",
        .section_close = "<|tool_calls_section_end|>",
        .open = "<|tool_call_begin|>",
        .close = "<|tool_call_end|>",
        .before_name = "functions.",
        .after_name = "<|tool_call_argument_begin|>",
        .ids = ToolFormat::Ids::counted},
       {{"<|tool_call_begin|>"}, {"<|tool_calls_section_begin|>"}, {"tool_declare", "<|im_middle|>"}}},
      {{.name = "action_list",
        .open = "<|START_ACTION|>",
        .close = "<|END_ACTION|>",
        .name_key = "tool_name",
        .arguments_key = "parameters",
        .list = true,
        .silent = {"<|START_RESPONSE|>", "<|END_RESPONSE|>"}},
       {{"<|START_ACTION|>"}}},
      {{.name = "action_fence",
        .open = "Action: ```json",
        .close = "```",
        .gap = "\n",
        .name_key = "tool_name",
        .arguments_key = "parameters",
        .list = true},
       {{"Action:", "tool_name"}}},
      {{.name = "bracketed_names", .kind = Kind::named, .open = "[TOOL_CALLS]", .after_name = "[ARGS]", .ids = ToolFormat::Ids::nine},
       {{"[TOOL_CALLS]", "[ARGS]"}}},
      {{.name = "bracketed_list", .open = "[TOOL_CALLS]", .gap = " ", .list = true, .ids = ToolFormat::Ids::nine}, {{"[TOOL_CALLS]"}}},
      {{.name = "toolcall_list", .open = "<TOOLCALL>", .close = "</TOOLCALL>", .list = true}, {{"<TOOLCALL>"}}},
      {{.name = "tool_calls_list", .open = "<tool_calls>", .close = "</tool_calls>", .list = true}, {{"<tool_calls>"}}},
      {{.name = "functools_list",
        .open = "functools",
        .also_open = "<|tool_call|>",
        .also_close = "<|/tool_call|>",
        .begin = "functools[",
        .list = true},
       {{"functools["}}},
      {{.name = "tool_call_list", .open = "<|tool_call|>", .also_open = "<tool_call>", .also_close = "<|/tool_call|>", .list = true},
       {{"<|tool_call|>"}, {"<|start_of_role|>", "!<tool_call>"}, {"<|tool|>", "<|/tool|>"}}},
      {{.name = "plugin_action",
        .open = "<|action_start|><|plugin|>",
        .close = "<|action_end|>",
        .gap = "\n",
        .arguments_key = "parameters"},
       {{"<|plugin|>"}}},
      {{.name = "function_json", .kind = Kind::named, .open = "<function=", .close = "</function>", .after_name = ">"},
       {{"<function=", "!<tool_call>"}}},
      {{.name = "bare_json", .open = "<|python_tag|>", .arguments_key = "parameters", .bare = true},
       {{"<|python_tag|>"}, {"<|start_header_id|>", "ipython"}, {"\"parameters\": dictionary"}}},
      {{.name = "tool_call_json", .open = "<tool_call>", .close = "</tool_call>", .gap = "\n"}, {{"<tool_call>"}}},
  };
  return all;
}

bool has(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

bool matches(std::string_view source, const std::vector<std::string_view>& words) {
  return std::ranges::all_of(words, [&](std::string_view w) { return w[0] == '!' ? !has(source, w.substr(1)) : has(source, w); });
}

}  // namespace

std::span<const ToolFormat> formats() {
  static const std::vector<ToolFormat> all = [] {
    std::vector<ToolFormat> list;
    for (const Row& row : rows()) list.push_back(row.format);
    return list;
  }();
  return all;
}

const ToolFormat& format_named(std::string_view name) {
  for (const ToolFormat& format : formats())
    if (format.name == name) return format;
  fail<UsageError>("tool format: unknown name '{}', expected one of src/server/tools/README.md", name);
}

std::vector<std::string> triggers_of(const ToolFormat& format) {
  std::vector<std::string> triggers;
  for (const std::string_view mark : {format.section_open, format.begin.empty() ? format.open : format.begin, format.also_open})
    if (!mark.empty()) triggers.emplace_back(mark);
  return triggers;
}

ToolFormat find_format(std::string_view chat_template) {
  for (const Row& row : rows()) {
    if (std::ranges::none_of(row.found_by, [&](const auto& words) { return matches(chat_template, words); })) continue;
    ToolFormat format = row.format;
    const size_t arguments = chat_template.find("{\"arguments\": <");
    format.arguments_first = format.kind == Kind::objects && arguments != std::string_view::npos;
    return format;
  }
  ToolFormat format = format_named("tool_call_json");
  format.known = false;
  return format;
}

Reasoning find_reasoning(std::string_view chat_template) {
  if (has(chat_template, "<|channel|>") && has(chat_template, "<|message|>")) return {.channels = true};
  struct Tags {
    std::string_view open, close;
  };
  constexpr Tags known[] = {{"<seed:think>", "</seed:think>"},
                            {"[THINK]", "[/THINK]"},
                            {"<|START_THINKING|>", "<|END_THINKING|>"},
                            {"<think>", "</think>"},
                            {"Here is my thought process:", "Here is my response:"}};
  for (const Tags& tags : known) {
    // Templates that cut the reasoning of earlier answers off may have the closing mark alone.
    if (!has(chat_template, tags.open) && !has(chat_template, tags.close)) continue;
    Reasoning found{.open = std::string(tags.open), .close = std::string(tags.close), .silent = {}};
    if (has(chat_template, "<response></response>")) found.silent = {"<response>", "</response>"};
    return found;
  }
  return {};
}

bool opens_reasoning(const Reasoning& reasoning, std::string_view prompt) {
  if (reasoning.open.empty()) return false;
  const size_t at = prompt.rfind(reasoning.open);
  if (at == std::string_view::npos) return false;
  std::string_view rest = prompt.substr(at + reasoning.open.size());
  constexpr std::string_view budget_of_none = "<seed:cot_budget_reflect>";  // stands behind the mark if there is nothing to think
  if (rest.starts_with(budget_of_none)) rest.remove_prefix(budget_of_none.size());
  return rest.find_first_not_of(" \n\r\t") == std::string_view::npos;
}

std::vector<std::string> marks_of(const ToolFormat& format, const Reasoning& reasoning, bool with_tools) {
  if (format.kind == Kind::channels)
    return {"<|channel|>", "<|message|>", "<|constrain|>", "<|start|>", "<|end|>", "<|call|>", "<|return|>"};
  std::vector<std::string> marks;
  const auto add = [&](std::string_view mark) {
    if (!mark.empty() && std::ranges::find(marks, mark) == marks.end()) marks.emplace_back(mark);
  };
  if (with_tools) {
    for (const std::string_view m : {format.section_open, format.section_close, format.open, format.close, format.also_open,
                                     format.also_close, format.key_open, format.key_close, format.value_open, format.value_close})
      add(m);
    // Some marks are several tokens, or stand next to other text.
    for (const std::string_view token : {"<|action_start|>", "<|plugin|>", "<｜tool▁sep｜>", "[ARGS]", "<|tool_call_argument_begin|>"})
      if (has(format.open, token) || has(format.before_name, token) || has(format.after_name, token)) add(token);
    if (format.after_name == "[ARGS]") add(call_id_mark);
    for (const std::string_view m : format.silent) add(m);
  }
  add(reasoning.open);
  add(reasoning.close);
  for (const std::string& m : reasoning.silent) add(m);
  return marks;
}

bool needs_special_tokens(const ToolFormat& format, const Reasoning& reasoning, bool with_tools,
                          const std::function<bool(const std::string&)>& is_special) {
  return std::ranges::any_of(marks_of(format, reasoning, with_tools), is_special);
}

std::string new_call_id(const ToolFormat& format, const std::string& name, int64_t index) {
  if (format.ids == ToolFormat::Ids::counted) return fmt::format("functions.{}:{}", name, index);
  static constexpr std::string_view characters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  thread_local std::mt19937_64 random{std::random_device{}() ^ (uint64_t(std::random_device{}()) << 32)};
  std::uniform_int_distribution<size_t> draw(0, characters.size() - 1);
  const bool nine = format.ids == ToolFormat::Ids::nine;
  std::string id = nine ? "" : "call_";
  for (int i = 0; i < (nine ? 9 : 24); ++i) id += characters[draw(random)];
  return id;
}

}  // namespace hearth::server::tools
