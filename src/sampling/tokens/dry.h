// The "don't repeat yourself" penalty, as llama.cpp defines it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "sampling/tokens/candidates.h"

namespace hearth::sampling {

// A token that would continue a sequence of m ≥ allowed_length tokens, which ends the context and stands earlier in it, loses
// multiplier · base^(m − allowed_length). The longest such sequence counts; none reaches back beyond the last sequence breaker,
// and a token that is a breaker by itself loses nothing. The power is capped where it would leave f32.
struct Dry {
  double multiplier = 0;  // 0: off
  double base = 1.75;
  int64_t allowed_length = 2;
  int64_t last_n = -1;  // how much of prompt and answer is searched; −1: all, 0: off
  std::vector<std::vector<int32_t>> breakers;
};

class DryPenalty {
 public:
  explicit DryPenalty(const Dry& dry);
  // context: prompt and answer. Linear in its length.
  void apply(Candidates& c, std::span<const int32_t> context) const;

 private:
  Dry dry_;
  std::unordered_multimap<int32_t, std::vector<int32_t>> breakers_;  // by their first token
};

// Token sequences for breakers given as text. pieces[i] is the text of token i; a token whose text contains a breaker is one by
// itself, a token whose text ends in the beginning of one is followed by `encode` of the breaker's rest (no special tokens, no
// prefix space). UsageError for an empty text.
std::vector<std::vector<int32_t>> dry_breakers(std::span<const std::string> texts, std::span<const std::string> pieces,
                                               const std::function<std::vector<int32_t>(const std::string&)>& encode);

// llama.cpp's: line feed, colon, quotation mark, asterisk.
std::span<const std::string> default_dry_breakers();

}  // namespace hearth::sampling
