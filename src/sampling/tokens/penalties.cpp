#include "sampling/tokens/penalties.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace hearth::sampling {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

// Whether the last of these tokens would complete the sequence.
bool is_begun(std::span<const int32_t> tokens, std::span<const int32_t> context) {
  if (tokens.size() == 1) return true;
  if (tokens.size() > context.size()) return false;
  return std::equal(tokens.begin(), tokens.end() - 1, context.end() - (tokens.size() - 1));
}

}  // namespace

void apply_sequence_bias(Candidates& c, std::span<const int32_t> context, std::span<const SequenceBias> biases) {
  std::unordered_map<int32_t, float> sums;  // several biases of a token are summed first, as in transformers
  for (const auto& [tokens, bias] : biases)
    if (is_begun(tokens, context)) sums[tokens.back()] += bias;
  for (const auto& [token, bias] : sums)
    if (float* score = c.find(token)) *score += bias;
}

void apply_repetition_penalty(Candidates& c, const History& history, double penalty) {
  const auto r = float(penalty);
  for (const auto& [token, count] : history.count)
    if (float* score = c.find(token)) *score = *score < 0 ? *score * r : *score / r;
}

void apply_answer_penalties(Candidates& c, const History& history, double presence, double frequency) {
  for (const auto& [token, count] : history.answer_count)
    if (float* score = c.find(token)) *score = float(*score - (presence + frequency * double(count)));
}

void forbid_repeated_ngrams(Candidates& c, std::span<const int32_t> context, int64_t n) {
  if (int64_t(context.size()) < n) return;
  const auto beginning = context.last(n - 1);
  for (size_t i = 0; i + n <= context.size(); ++i)
    if (std::equal(beginning.begin(), beginning.end(), context.begin() + i)) forbid(c, context.subspan(i + n - 1, 1));
}

void forbid(Candidates& c, std::span<const int32_t> tokens) {
  for (const int32_t token : tokens)
    if (float* score = c.find(token)) *score = -infinity;
}

}  // namespace hearth::sampling
