#include "sampling/tokens/stop_strings.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/text/utf8.h"

namespace hearth::sampling {

void StopStrings::Matcher::advance(char c) {
  while (matched > 0 && string[matched] != c) matched = border[matched - 1];
  if (string[matched] == c) ++matched;
}

StopStrings::StopStrings(const std::vector<std::string>& strings) {
  for (const std::string& string : strings) {
    if (string.empty()) fail<UsageError>("--stop: the text is empty, expected at least one character");
    if (!is_utf8(string)) fail<UsageError>("--stop: the text is not valid UTF-8");
    Matcher m;
    m.string = string;
    m.border.push_back(0);
    for (size_t i = 1; i < string.size(); ++i) {
      m.advance(string[i]);
      m.border.push_back(m.matched);
    }
    m.matched = 0;
    matchers_.push_back(std::move(m));
  }
}

std::string StopStrings::feed(std::string_view text) {
  if (stop_) return "";
  for (const char c : text) {
    held_ += c;
    ++fed_;
    size_t longest = 0;
    for (size_t i = 0; i < matchers_.size(); ++i) {
      Matcher& m = matchers_[i];
      m.advance(c);
      if (m.matched < m.string.size() || m.matched <= longest) continue;
      longest = m.matched;
      stop_ = {i, fed_ - longest};
    }
    if (!stop_) continue;
    held_.resize(held_.size() - longest);
    return std::exchange(held_, "");
  }
  size_t open = 0;
  for (const Matcher& m : matchers_) open = std::max(open, m.matched);
  std::string safe = held_.substr(0, held_.size() - open);
  held_.erase(0, held_.size() - open);
  return safe;
}

std::string StopStrings::flush() { return std::exchange(held_, ""); }

}  // namespace hearth::sampling
