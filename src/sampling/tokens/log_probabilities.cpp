#include "sampling/tokens/log_probabilities.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "sampling/tokens/exponentials.h"

namespace hearth::sampling {

LogProbabilities::LogProbabilities(std::span<const float> logits) : logits_(logits) {
  check_logits(logits);
  const float max = largest(logits);
  log_sum_ = max + std::log(sum_of_exponentials(logits, max));
}

float LogProbabilities::of(int32_t token) const {
  if (token < 0 || token >= int64_t(logits_.size()))
    fail<UsageError>("log-probability: token {} does not exist, expected an id from 0 to {}", token, logits_.size() - 1);
  return float(logits_[token] - log_sum_);
}

std::vector<TokenLogProbability> LogProbabilities::top(int64_t k) const {
  if (k < 0) fail<UsageError>("--logprobs {}: expected 0 or more", k);
  k = std::min(k, int64_t(logits_.size()));
  if (k == 0) return {};
  const auto before = [&](int32_t a, int32_t b) { return logits_[a] != logits_[b] ? logits_[a] > logits_[b] : a < b; };
  // A heap of the best so far with the worst on top. Ids ascend, so an equal logit never displaces one.
  std::vector<int32_t> best;
  for (int32_t token = 0; token < int32_t(logits_.size()); ++token) {
    if (int64_t(best.size()) == k) {
      if (!(logits_[token] > logits_[best.front()])) continue;
      std::pop_heap(best.begin(), best.end(), before);
      best.back() = token;
    } else {
      best.push_back(token);
    }
    std::push_heap(best.begin(), best.end(), before);
  }
  std::sort_heap(best.begin(), best.end(), before);
  std::vector<TokenLogProbability> result;
  for (const int32_t token : best) result.push_back({token, of(token)});
  return result;
}

}  // namespace hearth::sampling
