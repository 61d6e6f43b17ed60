// Renders a conversation as the text that a model was trained on, like apply_chat_template(…, tokenize=False) of transformers 4.57.
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

// The input of a template. JSON is passed as text; the order of keys is kept, because a template may print it.
struct ChatRequest {
  // A list of at least one object. "content" is a text, a list of parts, or null; the template defines the meaning of all other keys
  // ("tool_calls", "name", "reasoning_content" …).
  std::string messages;
  std::optional<std::string> tools;      // a list of objects; None in the template if absent
  std::optional<std::string> documents;  // the same
  bool add_generation_prompt = false;    // end with the start of a reply
  bool continue_final_message = false;   // leave the last message open for continuation; excludes the option above
  // An object with further variables (enable_thinking …). They override special tokens of the same name.
  std::string variables = "{}";
  // Selects one of several templates; default: `tool_use` if tools are given, else `default`.
  std::optional<std::string> name = {};
  std::function<jinja::LocalTime()> now = {};  // the time for strftime_now; default: the local time
};

// Immutable and thread-safe after construction. Copies share the templates.
class ChatTemplate {
 public:
  // A published folder: chat_template.jinja (and additional_chat_templates/*.jinja), else chat_template.json, else "chat_template" in
  // tokenizer_config.json, a text or a list of named ones. Special tokens: tokenizer_config.json, special_tokens_map.json, the defaults of
  // the tokenizer class. WeightError if the folder has no chat template; IoError for files that cannot be read.
  static ChatTemplate load(const std::filesystem::path& folder);

  // Templates by name ("default" for a single one) and special tokens ("bos_token" …) from another source, such as a GGUF file. `where` is
  // for messages. An invalid template is an error only when it is rendered.
  ChatTemplate(const std::map<std::string, std::string>& sources, std::map<std::string, std::string> special_tokens, std::string where);

  // jinja::TemplateError if rendering fails (Failure::raised: the template called raise_exception; its message is for the user). UsageError
  // for an invalid request, one line that names messages, tools, documents or variables; UnsupportedError for a construct of Jinja2 that is
  // not supported.
  std::string render(const ChatRequest& request) const;

 private:
  struct Data;
  std::shared_ptr<const Data> data_;
};

}  // namespace hearth::text
