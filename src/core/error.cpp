#include "core/error.h"

#include <algorithm>

namespace hearth {

std::string one_line(std::string text) {
  const auto is_control = [](char c) { return uint8_t(c) < 0x20 || c == 0x7f; };
  if (std::none_of(text.begin(), text.end(), is_control)) return text;
  std::string line;
  for (char c : text) {
    if (c == '\n') line += "\\n";
    else if (c == '\t') line += "\\t";
    else if (is_control(c)) line += fmt::format("\\x{:02x}", uint8_t(c));
    else line += c;
  }
  return line;
}

}  // namespace hearth
