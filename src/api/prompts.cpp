#include "api/prompts.h"

#include <fmt/format.h>

#include "text/prompt/weighted_text.h"

namespace hearth::api {

std::string plain_weight_warning(const Request& r) {
  if (r.prompt_syntax || r.compat != Compat::hearth) return {};
  std::vector<std::string> prompts = {r.prompt, r.negative_prompt.value_or("")};
  for (const auto& [name, value] : r.options)
    if (const auto* text = std::get_if<std::string>(&value)) prompts.push_back(*text);
  for (const std::string& prompt : prompts)
    if (const std::string_view weight = text::written_weight(prompt); !weight.empty())
      return fmt::format("'{}' is read as text; --prompt-syntax a1111 or comfyui makes it a weight", weight);
  return {};
}

}  // namespace hearth::api
