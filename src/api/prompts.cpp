#include "api/prompts.h"

#include "core/error.h"
#include "text/prompt/weighted_text.h"

namespace hearth::api {

text::PromptSyntax syntax_of(const Request& request) {
  if (!request.prompt_syntax.empty()) return text::find_prompt_syntax(request.prompt_syntax);
  if (request.compat == "comfyui") return text::PromptSyntax::comfyui;
  return request.compat == "a1111" ? text::PromptSyntax::a1111 : text::PromptSyntax::plain;
}

text::Emphasis emphasis_of(const Request& request) {
  if (request.emphasis.empty()) return text::Emphasis::original;
  if (const text::PromptSyntax syntax = syntax_of(request); syntax != text::PromptSyntax::a1111)
    fail<UsageError>("generate: emphasis '{}' acts in A1111's prompt syntax only, this is {}", request.emphasis, text::name_of(syntax));
  return text::find_emphasis(request.emphasis);
}

std::string plain_weight_warning(const Request& r) {
  if (!r.prompt_syntax.empty() || !r.compat.empty()) return {};
  for (const std::optional<std::string>& prompt : {std::optional(r.prompt), r.negative_prompt, r.prompt_2, r.negative_prompt_2})
    if (const std::string_view weight = text::written_weight(prompt ? *prompt : std::string_view()); !weight.empty())
      return fmt::format("'{}' is read as text; --prompt-syntax a1111 or comfyui makes it a weight", weight);
  return {};
}

}  // namespace hearth::api
