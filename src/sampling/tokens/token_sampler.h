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
// temperature 0, otherwise a draw, to which Mirostat 2 may contribute. The draw for token n of a completion is uniform_at(seed, n, 0),
// and that of XTC uniform_at(seed, n, 1): the same seed, parameters and logits give the same tokens, however the calls are divided.
// The draw selects the first token, by id, whose cumulative probability exceeds it.
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

  // Starts a completion of this prompt; earlier tokens are discarded and Mirostat restarts.
  void start(std::span<const int32_t> prompt);
  // Appends a token to the completion, whether next() returned it or not.
  void push(int32_t token);

  // logits [V], the row of the last token. NonFiniteError gives the count of non-finite values and the first of them; ShapeError for an
  // empty row or one shorter than parameters.vocabulary; UsageError for a bias of a token beyond V, and if no token is left to
  // choose from. Only Mirostat's μ changes: a second call without push() repeats the same choice.
  // allowed: bit t of word t / 64, whether token t may be chosen; before biases and every stage. Empty: every token.
  int32_t next(std::span<const float> logits, std::span<const uint64_t> allowed = {});

  // The distribution that next() would draw from, including probabilities; at temperature 0 all tokens with their penalized scores.
  // Valid until the next call.
  const Candidates& candidates(std::span<const float> logits, std::span<const uint64_t> allowed = {});

  const SamplingParameters& parameters() const { return parameters_; }
  const History& history() const { return history_; }
  double mu() const { return mu_; }  // Mirostat 2: largest surprise allowed, in bits

 private:
  void apply_rules(std::span<const float> logits, std::span<const uint64_t> allowed);
  void apply(Stage stage);

  SamplingParameters parameters_;
  History history_;
  DryPenalty dry_;
  double mu_;
  Candidates candidates_;
};

}  // namespace hearth::sampling
