#include "api/prompts.h"

#include "core/error.h"
#include "text/prompt/weighted_text.h"

namespace hearth::api {

PromptSyntax syntax_of(const Request& request) {
  if (request.prompt_syntax) return *request.prompt_syntax;
  if (request.compat == Compat::comfyui) return PromptSyntax::comfyui;
  return request.compat == Compat::a1111 ? PromptSyntax::a1111 : PromptSyntax::plain;
}

Emphasis emphasis_of(const Request& request) {
  if (!request.emphasis) return Emphasis::original;
  if (const PromptSyntax syntax = syntax_of(request); syntax != PromptSyntax::a1111)
    fail<UsageError>("generate: emphasis '{}' acts in A1111's prompt syntax only, this is {}", name_of(*request.emphasis), name_of(syntax));
  return *request.emphasis;
}

std::string plain_weight_warning(const Request& r) {
  if (r.prompt_syntax || r.compat != Compat::hearth) return {};
  for (const std::optional<std::string>& prompt : {std::optional(r.prompt), r.negative_prompt, r.prompt_2, r.negative_prompt_2})
    if (const std::string_view weight = text::written_weight(prompt ? *prompt : std::string_view()); !weight.empty())
      return fmt::format("'{}' is read as text; --prompt-syntax a1111 or comfyui makes it a weight", weight);
  return {};
}

}  // namespace hearth::api
