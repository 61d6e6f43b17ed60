#include "sampling/tokens/dry.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "core/error.h"

namespace hearth::sampling {
namespace {

using Tokens = std::span<const int32_t>;
using Breakers = std::unordered_multimap<int32_t, std::vector<int32_t>>;  // by their first token

// Number of tokens at the end of the context after its last breaker; all of them without one. Of several breakers that start at
// one token the longest counts.
int64_t tokens_after_breaker(Tokens context, const Breakers& breakers) {
  const auto length = int64_t(context.size());
  for (int64_t start = length - 1; start >= 0; --start) {
    int64_t longest = 0;
    const auto [first, last] = breakers.equal_range(context[start]);
    for (auto it = first; it != last; ++it) {
      const Tokens breaker = it->second, rest = context.subspan(start);
      if (breaker.size() <= rest.size() && std::equal(breaker.begin(), breaker.end(), rest.begin()))
        longest = std::max(longest, int64_t(breaker.size()));
    }
    if (longest > 0) return length - start - longest;
  }
  return length;
}

// result[i]: number of tokens before context[i] that equal those at the end of the context (Gusfield's Z function, backwards; linear).
std::vector<int64_t> repeats(Tokens context) {
  const auto n = int64_t(context.size());
  const auto at = [&](int64_t i) { return context[n - 1 - i]; };
  std::vector<int64_t> z(n, 0), result(n, 0);
  for (int64_t k = 1, left = 0, right = 0; k < n; ++k) {
    if (k < right) z[k] = std::min(right - k, z[k - left]);
    while (k + z[k] < n && at(z[k]) == at(k + z[k])) ++z[k];
    if (k + z[k] > right) left = k, right = k + z[k];
    result[n - k] = z[k];
  }
  return result;
}

}  // namespace

DryPenalty::DryPenalty(const Dry& dry) : dry_(dry) {
  for (const auto& breaker : dry.breakers) breakers_.emplace(breaker.front(), breaker);
}

void DryPenalty::apply(Candidates& c, std::span<const int32_t> context) const {
  if (dry_.multiplier == 0 || dry_.last_n == 0) return;
  if (dry_.last_n > 0 && int64_t(context.size()) > dry_.last_n) context = context.last(dry_.last_n);
  const auto is_breaker = [&](int32_t token) {
    const auto [first, last] = breakers_.equal_range(token);
    return std::any_of(first, last, [](const auto& entry) { return entry.second.size() == 1; });
  };

  const int64_t limit = tokens_after_breaker(context, breakers_);
  if (limit < dry_.allowed_length) return;
  const std::vector<int64_t> repeated = repeats(context);
  std::unordered_map<int32_t, int64_t> longest;
  for (size_t i = 1; i < context.size(); ++i) {
    const int64_t length = std::min(repeated[i], limit);
    if (length >= dry_.allowed_length && !is_breaker(context[i])) longest[context[i]] = std::max(longest[context[i]], length);
  }
  const double cap = std::floor(std::log(double(std::numeric_limits<float>::max())) / std::log(dry_.base));  // infinite for base 1
  for (const auto& [token, length] : longest)
    if (float* score = c.find(token))
      *score -= float(dry_.multiplier * std::pow(dry_.base, std::min(cap, double(length - dry_.allowed_length))));
}

std::vector<std::vector<int32_t>> dry_breakers(std::span<const std::string> texts, std::span<const std::string> pieces,
                                               const std::function<std::vector<int32_t>(const std::string&)>& encode) {
  std::vector<std::vector<int32_t>> breakers;
  for (const std::string& text : texts) {
    if (text.empty()) fail<UsageError>("--dry-sequence-breaker: the text is empty, expected at least one character");
    std::unordered_map<size_t, std::vector<int32_t>> rests;  // ids of the text from that position on
    for (size_t token = 0; token < pieces.size(); ++token) {
      const std::string& piece = pieces[token];
      if (piece.find(text) != piece.npos) {
        breakers.push_back({int32_t(token)});
        continue;
      }
      for (size_t length = std::min(piece.size(), text.size() - 1); length > 0; --length) {
        if (piece.compare(piece.size() - length, length, text, 0, length) != 0) continue;
        const auto [rest, is_new] = rests.try_emplace(length);
        if (is_new) rest->second = encode(text.substr(length));
        std::vector<int32_t> breaker{int32_t(token)};
        breaker.insert(breaker.end(), rest->second.begin(), rest->second.end());
        breakers.push_back(std::move(breaker));
      }
    }
  }
  std::sort(breakers.begin(), breakers.end());
  breakers.erase(std::unique(breakers.begin(), breakers.end()), breakers.end());
  return breakers;
}

std::span<const std::string> default_dry_breakers() {
  static const std::array<std::string, 4> texts{"\n", ":", "\"", "*"};
  return texts;
}

}  // namespace hearth::sampling
