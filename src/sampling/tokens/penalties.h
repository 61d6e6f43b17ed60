// Changes to the scores of tokens that depend on earlier tokens. Tokens that are not candidates are unaffected.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sampling/tokens/candidates.h"
#include "sampling/tokens/history.h"

namespace hearth::sampling {

// Adds `bias` to a token that completes the sequence: a finite number, or −∞ to forbid it. A sequence of a single token is
// biased everywhere. As in transformers (SequenceBiasLogitsProcessor, NoBadWordsLogitsProcessor), a sequence of more than one token
// counts only if the context has at least as many.
struct SequenceBias {
  std::vector<int32_t> tokens;
  float bias = 0;
};
void apply_sequence_bias(Candidates& c, std::span<const int32_t> context, std::span<const SequenceBias> biases);

// For tokens of prompt and completion: a score below 0 is multiplied by the penalty, others are divided by it (Keskar et al. 2019, with the
// correction for negative scores that transformers and llama.cpp share). In f32.
void apply_repetition_penalty(Candidates& c, const History& history, double penalty);

// For tokens of the completion: score −= presence + frequency · count.
void apply_answer_penalties(Candidates& c, const History& history, double presence, double frequency);

// Forbids tokens that would complete an n-gram which the context already contains. n ≥ 1.
void forbid_repeated_ngrams(Candidates& c, std::span<const int32_t> context, int64_t n);

void forbid(Candidates& c, std::span<const int32_t> tokens);

}  // namespace hearth::sampling
