#include "api/image/prompts.h"

#include <fmt/format.h>

#include "api/settings/setting.h"
#include "text/prompt/weighted_text.h"

namespace hearth::api {

std::string plain_weight_warning(const Request& r) {
  if (r.prompt_syntax || r.compat != Compat::hearth) return {};
  for (const std::string& prompt : prompts_of(r))
    if (const std::string_view weight = text::written_weight(prompt); !weight.empty())
      return fmt::format("'{}' is parsed as text; pass --prompt-syntax a1111 or comfyui to use it as a weight", weight);
  return {};
}

}  // namespace hearth::api
