#include "text/prompt/weighted_text.h"

namespace hearth::text {

std::string_view written_weight(std::string_view text) {
  size_t open = text.npos, colon = text.npos;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') open = i, colon = text.npos;
    if (text[i] == ':') colon = i;
    if (text[i] != ')' || open == text.npos) continue;
    const std::string_view number = colon == text.npos ? std::string_view() : text.substr(colon + 1, i - colon - 1);
    const bool digits = number.find_first_of("0123456789") != number.npos;
    if (digits && number.find_first_not_of("0123456789. ") == number.npos) return text.substr(open, i + 1 - open);
    open = text.npos;
  }
  return {};
}

}  // namespace hearth::text
