#include "core/text/suggest.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace hearth {

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<int>> d(a.size() + 1, std::vector<int>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = int(i);
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = int(j);
  for (size_t i = 1; i <= a.size(); ++i)
    for (size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  const auto begins = [&](const std::string& c) { return c.starts_with(word); };
  if (word.size() >= 2 && std::count_if(candidates.begin(), candidates.end(), begins) == 1)
    return *std::find_if(candidates.begin(), candidates.end(), begins);
  int least = std::max(1, int(word.size()) / 3) + 1;
  std::string best;
  for (const std::string& c : candidates)
    if (const int distance = edit_distance(word, c); distance < least && distance < int(std::max(word.size(), c.size()))) {
      least = distance;
      best = c;
    }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  constexpr size_t most = 5;
  std::vector<std::string> begun;
  for (const std::string& c : candidates)
    if (word.size() >= 2 && c.starts_with(word)) begun.push_back(c);
  if (begun.size() > 1) {
    std::ranges::stable_sort(begun, {}, &std::string::size);
    const std::string more = begun.size() > most ? " or another" : "";
    begun.resize(std::min(begun.size(), most));
    return fmt::format("; did you mean {}{}?", fmt::join(begun, more.empty() ? " or " : ", "), more);
  }
  const std::string found = nearest(word, candidates);
  return found.empty() ? "" : "; did you mean " + found + "?";
}

}  // namespace hearth
