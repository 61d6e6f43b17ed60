#include "engine/choice.h"

#include <algorithm>

#include "sampling/tokens/log_probabilities.h"

namespace hearth::engine {
namespace {

sampling::SamplingParameters of_choice(sampling::SamplingParameters p, int64_t index) {
  p.seed += uint64_t(index);
  return p;
}

}  // namespace

TokenLogprob logprob(std::span<const float> logits, int32_t token, int64_t top) {
  const sampling::LogProbabilities row(logits);
  TokenLogprob made{.token = token, .logprob = row.of(token)};
  for (const sampling::TokenLogProbability& t : row.top(top)) made.top.emplace_back(t.token, t.log_probability);
  return made;
}

Choice::Choice(std::shared_ptr<Answer> answer, int64_t index, const text::Tokenizer* tokenizer)
    : answer_(std::move(answer)),
      index_(index),
      tokens_(answer_->request.prompt),
      sampler_(of_choice(answer_->request.sampling, index)),
      stop_(answer_->request.stop) {
  sampler_.start(tokens_);
  if (tokenizer) decoder_.emplace(*tokenizer, text::DecodeOptions{.skip_special_tokens = !answer_->request.show_special});
  if (answer_->request.constraint) constraint_ = answer_->request.constraint->make();
  priority = answer_->request.priority;
}

int32_t Choice::next(std::span<const float> logits) {
  return sampler_.next(logits, constraint_ ? constraint_->allowed() : std::span<const uint64_t>());
}

void Choice::push(int32_t token, std::span<const float> logits) {
  const Request& r = answer_->request;
  sampler_.push(token);
  tokens_.push_back(token);
  TokenEvent event{.token = token, .text = {}, .logprob = {}};
  if (r.logprobs) event.logprob = logprob(logits, token, *r.logprobs);
  const bool is_end = std::ranges::find(r.end_tokens, token) != r.end_tokens.end();
  if (constraint_ && !is_end) constraint_->accept(token);
  if (decoder_) event.text = stop_.feed(decoder_->push(token));
  answer_->sink->token(index_, std::move(event));
  if (is_end || stop_.stop()) {
    ended_ = true;
    ChoiceEnd how{.reason = Finish::stop, .tokens = completion()};
    if (decoder_ && !stop_.stop()) how.text = stop_.feed(decoder_->finish()) + stop_.flush();
    if (stop_.stop()) {
      how.stop = r.stop[stop_.stop()->index];
      if (r.include_stop) how.text += *how.stop;
    } else {
      how.end_token = token;
    }
    answer_->sink->end(index_, std::move(how));
  } else if (constraint_ && constraint_->ends()) {
    end(Finish::stop);
  } else if (completion() >= r.max_tokens) {
    end(Finish::length);
  }
}

void Choice::end(Finish reason) {
  ended_ = true;
  ChoiceEnd how{.reason = reason, .tokens = completion()};
  if (decoder_) {
    how.text = stop_.feed(decoder_->finish());
    if (const auto& stop = stop_.stop()) how.reason = Finish::stop, how.stop = answer_->request.stop[stop->index];
    how.text += stop_.flush();
  }
  answer_->sink->end(index_, std::move(how));
}

}  // namespace hearth::engine
