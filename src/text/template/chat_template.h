// A conversation to the text that a model was trained on: what transformers 4.57's apply_chat_template(…, tokenize=False) gives.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/template/functions/functions.h"

namespace hearth::text {

// What a template is given. All JSON is text; the order of keys in it is kept, a template may print it.
struct ChatRequest {
  // A list of at least one object. "content" is a text, a list of parts, or null; what else a message holds ("tool_calls", "name",
  // "reasoning_content" …) is the template's business.
  std::string messages;
  std::optional<std::string> tools;      // a list of objects; none to the template without it
  std::optional<std::string> documents;  // the same
  bool add_generation_prompt = false;    // end with what begins an answer
  bool continue_final_message = false;   // leave the last message open, to be continued; not together with the above
  // An object: further variables (enable_thinking …). They win over special tokens of the same name.
  std::string variables = "{}";
  // Of several templates this one by name; without it `tool_use` where tools are given, else `default`.
  std::optional<std::string> name = {};
  std::function<jinja::LocalTime()> now = {};  // what strftime_now prints; the machine's local time without it
};

// Constant after construction: any number of threads may render. Copies share the templates.
class ChatTemplate {
 public:
  // A published folder: chat_template.jinja (and additional_chat_templates/*.jinja), else chat_template.json, else "chat_template" in
  // tokenizer_config.json, a text or a list of named ones. Special tokens: tokenizer_config.json, special_tokens_map.json, the tokenizer
  // class's own defaults. WeightError when the folder has no chat template; IoError for files that cannot be read.
  static ChatTemplate load(const std::filesystem::path& folder);

  // Templates by name ("default" for a single one) and special tokens ("bos_token" …) from elsewhere, say a GGUF file. `where` is for
  // messages. A template that cannot be read is an error only when it is rendered.
  ChatTemplate(const std::map<std::string, std::string>& sources, std::map<std::string, std::string> special_tokens, std::string where);

  // jinja::TemplateError: what the template refuses (Failure::raised is its own raise_exception, for the user) or cannot do.
  // UsageError for a request that makes no sense, one line that names messages, tools, documents or variables; UnsupportedError for a
  // construct of Jinja2 that hearth does not have.
  std::string render(const ChatRequest& request) const;

 private:
  struct Data;
  std::shared_ptr<const Data> data_;
};

}  // namespace hearth::text
