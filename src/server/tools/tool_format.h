// How models write tool calls and reasoning, found from the source of their chat templates. README.md has the table with examples.
//
// A new format is a row of formats() if it consists of marks around JSON, or around parameters in tags.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::server::tools {

// May stand between the name and [ARGS], followed by nine letters and digits.
inline constexpr std::string_view call_id_mark = "[CALL_ID]";

struct ToolFormat {
  enum class Kind {
    objects,     // {"name": NAME, "arguments": {…}} behind a mark, or a list of these
    named,       // NAME, a mark, and the arguments as JSON
    parameters,  // NAME, and each argument between tags
    channels,    // every part of an answer names its channel, and calls their recipient
  };
  enum class Ids {
    prefixed,  // call_ and 24 letters and digits
    nine,      // nine letters and digits, which templates demand
    counted,   // functions.NAME:NUMBER, written by the model
  };

  std::string_view name;  // of the format
  Kind kind = Kind::objects;
  // Where both are set, calls stand between them: all calls, or each one (section_per_call).
  std::string_view section_open = {}, section_close = {};
  bool section_per_call = false;
  std::string_view open = {}, close = {};            // of a call, or of a list of calls
  std::string_view also_open = {}, also_close = {};  // read like these, never demanded
  std::string_view begin = {};                       // what is taken for the beginning of a call, if `open` is a word of its own
  std::string_view gap = {};                         // what models write between these marks and what is inside; any white space is read

  // objects
  std::string_view name_key = "name", arguments_key = "arguments";
  bool list = false;             // open [{…}, {…}] close
  bool bare = false;             // an answer may also begin with the object itself, without `open`
  bool arguments_first = false;  // the template shows the arguments in front of the name

  // named, parameters
  std::string_view before_name = {}, after_name = {};
  std::string_view after_arguments = {};  // in front of `close`

  // parameters
  std::string_view key_open = {}, key_close = {}, value_open = {}, value_close = {};
  bool value_lines = false;  // a value stands on lines of its own

  std::vector<std::string_view> silent = {};  // marks around plain text
  Ids ids = Ids::prefixed;
  // Whether the template tells the model of tools in this way. If not, it gets `tool_prompt` (tool_prompt.h).
  bool known = true;
};

// All formats; each also has an entry for the marks in templates that it is found by.
std::span<const ToolFormat> formats();
const ToolFormat& format_named(std::string_view name);  // UsageError

// What may begin a call.
std::vector<std::string> triggers_of(const ToolFormat& format);

// The format of the models with this template; JSON in <tool_call> tags with known = false for templates without any of the marks.
ToolFormat find_format(std::string_view chat_template);

// Marks around what a model thinks before it answers. Empty: it does not.
struct Reasoning {
  std::string open, close;
  std::vector<std::string> silent;  // marks around the answer that follows
  bool channels = false;            // the channel "analysis" of Kind::channels
  bool none() const { return open.empty() && !channels; }
};
Reasoning find_reasoning(std::string_view chat_template);

// Whether the answer begins inside the reasoning, because the rendered prompt ends with its opening mark.
bool opens_reasoning(const Reasoning& reasoning, std::string_view prompt);

// What the answer is searched for, with tools or without. Where one of these is a special token, the answer must be decoded with special
// tokens shown (engine::Request::show_special), and grammars need its text as the token's bytes (VocabularyIndex).
std::vector<std::string> marks_of(const ToolFormat& format, const Reasoning& reasoning, bool with_tools);
// is_special: whether the tokenizer has this text as a special token.
bool needs_special_tokens(const ToolFormat& format, const Reasoning& reasoning, bool with_tools,
                          const std::function<bool(const std::string&)>& is_special);

// For call `index` of an answer; `name` of the tool.
std::string new_call_id(const ToolFormat& format, const std::string& name, int64_t index);

}  // namespace hearth::server::tools
