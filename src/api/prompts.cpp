#include "api/prompts.h"

#include "core/error.h"

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

}  // namespace hearth::api
