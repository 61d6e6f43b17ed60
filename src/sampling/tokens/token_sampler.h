// From a row of logits to the next token.
//
//   TokenSampler sampler(parameters);
//   sampler.start(prompt);
//   do {
//     const int32_t token = sampler.next(logits);   // the row that follows the last token
//     sampler.push(token);
//     …
//   } while (…);
//
// Biases and forbidden tokens come first, then the stages of `parameters.order`, then the choice: the largest score at
// temperature 0, otherwise a draw, to which Mirostat 2 may contribute. The draw for token n of an answer is uniform_at(seed, n, 0),
// XTC's chance uniform_at(seed, n, 1): the same seed, parameters and logits give the same tokens, in whatever pieces they are asked
// for. The draw takes the first token, by id, at which the summed probabilities exceed it.
#pragma once

#include <cstdint>
#include <span>

#include "sampling/tokens/candidates.h"
#include "sampling/tokens/history.h"
#include "sampling/tokens/parameters.h"

namespace hearth::sampling {

class TokenSampler {
 public:
  // UsageError as check(). No prompt yet.
  explicit TokenSampler(SamplingParameters parameters);

  // A new answer to this prompt; what came before is forgotten, Mirostat starts anew.
  void start(std::span<const int32_t> prompt);
  // The next token of the answer, whether next() gave it or not.
  void push(int32_t token);

  // logits [V], the row of the last token. NonFiniteError names how many are not finite and the first of them; ShapeError for an
  // empty row or one shorter than parameters.vocabulary; UsageError for a bias of a token beyond V and when nothing is left to
  // choose from. Only Mirostat's μ changes: a second call without push() asks the same question again.
  int32_t next(std::span<const float> logits);

  // What next() would draw from, probabilities included; at temperature 0 all tokens with their scores after the penalties.
  // Valid until the next call.
  const Candidates& candidates(std::span<const float> logits);

  const SamplingParameters& parameters() const { return parameters_; }
  const History& history() const { return history_; }
  double mu() const { return mu_; }  // Mirostat 2: the largest surprise allowed, in bits

 private:
  void apply_rules(std::span<const float> logits);
  void apply(Stage stage);

  SamplingParameters parameters_;
  History history_;
  DryPenalty dry_;
  double mu_;
  Candidates candidates_;
};

}  // namespace hearth::sampling
