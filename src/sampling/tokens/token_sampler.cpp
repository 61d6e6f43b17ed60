#include "sampling/tokens/token_sampler.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "sampling/tokens/counter_random.h"
#include "sampling/tokens/exponentials.h"

namespace hearth::sampling {
namespace {

enum Stream : uint64_t { of_the_draw = 0, of_xtc = 1 };

SamplingParameters checked(SamplingParameters p) {
  check(p);
  return p;
}

}  // namespace

TokenSampler::TokenSampler(SamplingParameters parameters)
    : parameters_(checked(std::move(parameters))),
      history_(parameters_.repeat_last_n),
      dry_(parameters_.dry),
      mu_(2 * parameters_.mirostat_tau) {}

void TokenSampler::start(std::span<const int32_t> prompt) {
  history_.start(prompt);
  mu_ = 2 * parameters_.mirostat_tau;
}

void TokenSampler::push(int32_t token) { history_.push(token); }

void TokenSampler::apply_rules(std::span<const float> logits, std::span<const uint64_t> allowed) {
  const SamplingParameters& p = parameters_;
  check_logits(logits);
  const auto rows = int64_t(logits.size());
  if (p.vocabulary > rows) fail<ShapeError>("token sampling: got {} logits, expected one for each of {} tokens", rows, p.vocabulary);
  for (const auto& [tokens, bias] : p.sequence_bias)
    for (const int32_t token : tokens)
      if (token >= rows) fail<UsageError>("--logit-bias: token {} does not exist, expected an id below {}", token, rows);
  candidates_.assign(p.vocabulary > 0 ? logits.first(p.vocabulary) : logits);
  if (!allowed.empty()) candidates_.keep([&](size_t i) { return i / 64 < allowed.size() && (allowed[i / 64] >> (i % 64) & 1); });

  apply_sequence_bias(candidates_, history_.tokens, p.sequence_bias);
  if (p.no_repeat_ngram_size > 0) forbid_repeated_ngrams(candidates_, history_.tokens, p.no_repeat_ngram_size);
  if (history_.answered() < p.min_new_tokens || int64_t(history_.tokens.size()) < p.min_length) forbid(candidates_, p.end_tokens);
  forbid(candidates_, p.suppress_tokens);
  if (history_.answered() == 0) forbid(candidates_, p.begin_suppress_tokens);
  if (count_non_finite(candidates_.score) > 0) candidates_.keep([&](size_t i) { return std::isfinite(candidates_.score[i]); });
}

void TokenSampler::apply(Stage stage) {
  const SamplingParameters& p = parameters_;
  Candidates& c = candidates_;
  switch (stage) {
    case Stage::penalties:
      if (p.repetition_penalty != 1) apply_repetition_penalty(c, history_, p.repetition_penalty);
      if (p.presence_penalty != 0 || p.frequency_penalty != 0) apply_answer_penalties(c, history_, p.presence_penalty, p.frequency_penalty);
      break;
    case Stage::dry: dry_.apply(c, history_.tokens); break;
    case Stage::temperature:
      if (p.temperature != 1) apply_temperature(c, p.temperature);
      break;
    case Stage::top_n_sigma:
      if (p.top_n_sigma > 0) top_n_sigma(c, p.top_n_sigma);
      break;
    case Stage::top_k:
      if (p.top_k > 0) top_k(c, p.top_k);
      break;
    case Stage::top_p:
      if (p.top_p < 1) top_p(c, p.top_p);
      break;
    case Stage::min_p:
      if (p.min_p > 0) min_p(c, p.min_p);
      break;
    case Stage::typical:
      if (p.typical_p < 1) typical(c, p.typical_p);
      break;
    case Stage::epsilon_cutoff:
      if (p.epsilon_cutoff > 0) epsilon_cutoff(c, p.epsilon_cutoff);
      break;
    case Stage::eta_cutoff:
      if (p.eta_cutoff > 0) eta_cutoff(c, p.eta_cutoff);
      break;
    case Stage::xtc:
      if (uniform_at(p.seed, history_.answered(), of_xtc) < p.xtc_probability) exclude_top_choices(c, p.xtc_threshold);
      break;
  }
}

const Candidates& TokenSampler::candidates(std::span<const float> logits, std::span<const uint64_t> allowed) {
  apply_rules(logits, allowed);
  for (const Stage stage : parameters_.order) {
    // At temperature 0 only stages that change scores matter, at any position.
    if (parameters_.temperature == 0 && stage != Stage::penalties && stage != Stage::dry) continue;
    apply(stage);
  }
  if (parameters_.temperature == 0) return candidates_;
  if (parameters_.mirostat == 2) truncate_surprise(candidates_, mu_);
  candidates_.normalize();
  return candidates_;
}

int32_t TokenSampler::next(std::span<const float> logits, std::span<const uint64_t> allowed) {
  candidates(logits, allowed);
  if (parameters_.temperature == 0) return candidates_.id[most_probable(candidates_)];
  const size_t drawn = draw(candidates_, uniform_at(parameters_.seed, history_.answered(), of_the_draw));
  if (parameters_.mirostat == 2) mu_ -= parameters_.mirostat_eta * (-std::log2(double(candidates_.p[drawn])) - parameters_.mirostat_tau);
  return candidates_.id[drawn];
}

}  // namespace hearth::sampling
