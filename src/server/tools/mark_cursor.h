// Matching of marks at the end of a text that may continue.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace hearth::server::tools {

enum class Match {
  no,
  more,  // undecided until more text has come
  yes,
};

// Reads along a text. Each function moves on if it answers yes, and stays otherwise.
struct Cursor {
  std::string_view text;
  bool ended;  // nothing more will come
  size_t at = 0;

  std::string_view rest() const { return text.substr(at); }
  Match literal(std::string_view mark);
  // White space, the mark, or nothing where it is empty: `mark` without the white space at its ends.
  Match spaced(std::string_view mark);
  Match space();  // any amount, also none; more at the end of the text
};

struct FoundMark {
  size_t at = 0;    // where it begins; the text's size if there is none
  size_t size = 0;  // 0: the text ends inside what may become a mark, or there is none
};
// The first of the marks, the longest of those that begin there.
FoundMark find_mark(std::string_view text, std::span<const std::string> marks, bool ended);

std::string_view trimmed(std::string_view text);

}  // namespace hearth::server::tools
