// Comparison of names as users write them.
#pragma once

#include <string>
#include <string_view>

namespace hearth::sampling {

// Lower case, "++" as "pp", without spaces, underscores and hyphens: equal for all spellings of one name.
inline std::string folded(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == ' ' || c == '_' || c == '-') continue;
    if (c == '+') out += 'p';
    else out += c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
  }
  return out;
}

}  // namespace hearth::sampling
