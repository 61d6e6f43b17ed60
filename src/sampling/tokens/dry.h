// The "don't repeat yourself" (DRY) penalty, as llama.cpp defines it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "sampling/tokens/candidates.h"

namespace hearth::sampling {

// If a token would continue a sequence of m ≥ allowed_length tokens that ends the context and also occurs earlier in it, its score is
// reduced by multiplier · base^(m − allowed_length). The longest such sequence counts. None extends beyond the last sequence breaker,
// and a token that is a breaker by itself is not penalized. The power is capped to stay in the range of f32.
struct Dry {
  double multiplier = 0;  // 0: off
  double base = 1.75;
  int64_t allowed_length = 2;
  int64_t last_n = -1;  // tokens of prompt and completion that are searched; −1: all, 0: off
  std::vector<std::vector<int32_t>> breakers;
};

class DryPenalty {
 public:
  explicit DryPenalty(const Dry& dry);
  // context: prompt and completion. Linear in its length.
  void apply(Candidates& c, std::span<const int32_t> context) const;

 private:
  Dry dry_;
  std::unordered_multimap<int32_t, std::vector<int32_t>> breakers_;  // by their first token
};

// Token sequences of breakers given as text. pieces[i] is the text of token i. A token whose text contains a breaker is one by
// itself; a token whose text ends with the beginning of one is followed by `encode` of the breaker's rest (no special tokens, no
// prefix space). UsageError for an empty text.
std::vector<std::vector<int32_t>> dry_breakers(std::span<const std::string> texts, std::span<const std::string> pieces,
                                               const std::function<std::vector<int32_t>(const std::string&)>& encode);

// llama.cpp's defaults: line feed, colon, quotation mark, asterisk.
std::span<const std::string> default_dry_breakers();

}  // namespace hearth::sampling
