#include "api/language_state.h"
#include "core/error.h"
#include "text/template/chat_template.h"

namespace hearth::api {
namespace {

text::ChatTemplate chat_template(const LanguageState& state) {
  if (!state.vocabulary) return text::ChatTemplate::load(state.root);
  if (state.chat_templates.empty()) fail<WeightError>("{}: the file has no chat template", state.root.string());
  const text::Tokenizer& tokenizer = state.tokenizer();
  std::map<std::string, std::string> special;
  const auto add = [&](const char* name, const std::string& token) {
    if (!token.empty()) special[name] = token;
  };
  add("bos_token", tokenizer.bos_token()), add("eos_token", tokenizer.eos_token());
  add("unk_token", tokenizer.unk_token()), add("pad_token", tokenizer.pad_token());
  return {state.chat_templates, special, state.root.string()};
}

}  // namespace

std::string render(const LanguageState& state, const ChatMessages& chat) {
  const text::ChatTemplate chosen = chat_template(state);
  return chosen.render({.messages = chat.messages,
                        .tools = chat.tools,
                        .documents = chat.documents,
                        .add_generation_prompt = chat.add_generation_prompt,
                        .continue_final_message = chat.continue_final_message,
                        .variables = chat.variables,
                        .name = chat.template_name.empty() ? std::nullopt : std::optional(chat.template_name)});
}

}  // namespace hearth::api
