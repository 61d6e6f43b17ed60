#include "api/prompts.h"

#include <fmt/format.h>

#include "text/prompt/weighted_text.h"

namespace hearth::api {

std::string plain_weight_warning(const Request& r) {
  if (r.prompt_syntax || r.compat != Compat::hearth) return {};
  for (const std::optional<std::string>& prompt : {std::optional(r.prompt), r.negative_prompt, r.prompt_2, r.negative_prompt_2})
    if (const std::string_view weight = text::written_weight(prompt ? *prompt : std::string_view()); !weight.empty())
      return fmt::format("'{}' is read as text; --prompt-syntax a1111 or comfyui makes it a weight", weight);
  return {};
}

}  // namespace hearth::api
