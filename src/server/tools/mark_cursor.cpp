#include "server/tools/mark_cursor.h"

#include <algorithm>

#include "server/tools/json_scanner.h"

namespace hearth::server::tools {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_json_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_json_space(text.back())) text.remove_suffix(1);
  return text;
}

Match Cursor::literal(std::string_view mark) {
  if (rest().starts_with(mark)) {
    at += mark.size();
    return Match::yes;
  }
  return !ended && mark.starts_with(rest()) ? Match::more : Match::no;
}

Match Cursor::space() {
  while (at < text.size() && is_json_space(text[at])) ++at;
  return at < text.size() || ended ? Match::yes : Match::more;
}

Match Cursor::spaced(std::string_view mark) {
  mark = trimmed(mark);
  const size_t before = at;
  Match m = Match::yes;
  if (!mark.empty() && (m = space()) == Match::yes) m = literal(mark);
  if (m != Match::yes) at = before;
  return m;
}

FoundMark find_mark(std::string_view text, std::span<const std::string> marks, bool ended) {
  for (size_t at = 0; at < text.size(); ++at) {
    const std::string_view rest = text.substr(at);
    size_t size = 0;
    bool partial = false;
    for (const std::string& mark : marks) {
      if (mark[0] != rest[0]) continue;
      if (rest.starts_with(mark)) size = std::max(size, mark.size());
      else partial = partial || (!ended && mark.starts_with(rest));
    }
    if (partial) return {at, 0};
    if (size > 0) return {at, size};
  }
  return {text.size(), 0};
}

}  // namespace hearth::server::tools
