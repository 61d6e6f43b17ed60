// One completion that the engine computes: its tokens, what the model stores of them, and the way from logits to text.
#pragma once

#include <atomic>

#include "engine/drafter.h"
#include "engine/prefix_cache.h"
#include "engine/request.h"
#include "engine/scheduler.h"
#include "sampling/tokens/stop_strings.h"
#include "sampling/tokens/token_sampler.h"
#include "text/tokenizer/tokenizer.h"

namespace hearth::engine {

// A request that is being answered; shared by its choices.
struct Answer {
  Request request;
  std::shared_ptr<Sink> sink;
  std::atomic<bool> canceled = false;

  // Of the engine's thread.
  Usage usage;
  double arrived = 0, admitted = 0, first_token = 0;  // seconds
  int64_t open_choices = 0;
  bool started = false, ended = false;
  std::vector<std::optional<TokenLogprob>> prompt_logprobs;
  std::vector<float> embedding_sum;
};

class Choice final : public Job {
 public:
  // tokenizer: null for a model without one.
  Choice(std::shared_ptr<Answer> answer, int64_t index, const text::Tokenizer* tokenizer);

  Answer& answer() const { return *answer_; }
  const std::shared_ptr<Answer>& shared_answer() const { return answer_; }
  int64_t index() const { return index_; }

  // Prompt and completion. The last one is not fed while the text generates.
  const std::vector<int32_t>& tokens() const { return tokens_; }
  int64_t completion() const { return std::ssize(tokens_) - std::ssize(answer_->request.prompt); }

  // The next token after these logits [V], by the rules of the request.
  int32_t next(std::span<const float> logits);
  // Appends the token and tells the sink. Ends the choice if it was an end token, completed a stop sequence, or was the last one allowed.
  void push(int32_t token, std::span<const float> logits);
  // Without a token: for a prompt alone.
  void end(Finish reason);
  bool ended() const { return ended_; }

  void close() { ended_ = true; }

  // Of the engine.
  std::unique_ptr<models::PooledText> text;
  PrefixCache::Node* kept = nullptr;      // the last page of the text that is in the prefix cache; pinned
  PrefixCache::Node* snapshot = nullptr;  // that this text made last, while it generates
  int64_t kept_pages = 0;
  bool keeps = true;                 // pages for others; not after it was swapped, which leaves pages out
  models::TextState::Parts swapped;  // of a text that was stopped, if it is kept
  int64_t swapped_length = 0, swapped_bytes = 0;
  std::unique_ptr<Drafts> guesses;
  std::vector<int32_t> drafts;           // tokens to try in this pass, behind the last one
  std::vector<int32_t> fed;              // tokens of this pass, with the drafts
  std::vector<std::vector<float>> rows;  // logits after the last token, and after each draft
  std::optional<models::TextState::Parts> before_drafts;
  int64_t length_before_drafts = 0;
  double last_token = 0;  // seconds

 private:
  std::shared_ptr<Answer> answer_;
  int64_t index_;
  std::vector<int32_t> tokens_;
  sampling::TokenSampler sampler_;
  sampling::StopStrings stop_;
  std::optional<text::StreamDecoder> decoder_;
  std::unique_ptr<Constraint> constraint_;
  bool ended_ = false;
};

TokenLogprob logprob(std::span<const float> logits, int32_t token, int64_t top);

}  // namespace hearth::engine
