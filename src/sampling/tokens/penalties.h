// What changes the scores of tokens by what has been said so far. All leave tokens alone that are no candidates.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sampling/tokens/candidates.h"
#include "sampling/tokens/history.h"

namespace hearth::sampling {

// A token that follows the other tokens of a sequence gets `bias` added: a finite number, or −∞ to forbid it. One token alone is
// biased everywhere. As in transformers (SequenceBiasLogitsProcessor, NoBadWordsLogitsProcessor) a sequence of more than one token
// counts only when the context has at least as many.
struct SequenceBias {
  std::vector<int32_t> tokens;
  float bias = 0;
};
void apply_sequence_bias(Candidates& c, std::span<const int32_t> context, std::span<const SequenceBias> biases);

// Tokens of prompt and answer: a score below 0 is multiplied by the penalty, others are divided by it (Keskar et al. 2019, with the
// correction for negative scores that transformers and llama.cpp share). In f32.
void apply_repetition_penalty(Candidates& c, const History& history, double penalty);

// Tokens of the answer: score −= presence + frequency · (how often).
void apply_answer_penalties(Candidates& c, const History& history, double presence, double frequency);

// Forbids the tokens that would complete a sequence of n tokens which the context holds already. n ≥ 1.
void forbid_repeated_ngrams(Candidates& c, std::span<const int32_t> context, int64_t n);

void forbid(Candidates& c, std::span<const int32_t> tokens);

}  // namespace hearth::sampling
