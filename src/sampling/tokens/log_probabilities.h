// Log-probabilities of tokens: the f32 log-softmax of the raw logits over all rows of the output matrix, including padding, before
// any penalty or temperature.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hearth::sampling {

struct TokenLogProbability {
  int32_t token;
  float log_probability;
  bool operator==(const TokenLogProbability&) const = default;
};

// The log-softmax of one row; the logits must outlive it. The sum is f64, each result is rounded to f32 once.
class LogProbabilities {
 public:
  // logits [V]. NonFiniteError, ShapeError as check_logits.
  explicit LogProbabilities(std::span<const float> logits);

  // UsageError for a token that has no row.
  float of(int32_t token) const;
  // The k most probable tokens in descending order, the lowest id first among equals; all V if k > V. k ≥ 0.
  std::vector<TokenLogProbability> top(int64_t k) const;

 private:
  std::span<const float> logits_;
  double log_sum_;
};

}  // namespace hearth::sampling
