// What the engine is asked for, and what it answers.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sampling/tokens/parameters.h"

namespace hearth::engine {

// Which tokens may follow, for structured output. One object belongs to one choice of one request; it is only used by the engine's thread.
class Constraint {
 public:
  virtual ~Constraint() = default;
  // Bit t of word t / 64: whether token t may be next; end tokens are allowed where the text may end. At least one bit is set.
  virtual std::span<const uint64_t> allowed() = 0;
  virtual void accept(int32_t token) = 0;  // an allowed token
  // Whether nothing but an end token may follow.
  virtual bool ends() const = 0;
  // The same in the state that it has now: for drafts, which may be taken back.
  virtual std::unique_ptr<Constraint> copy() const = 0;
};

// Makes a constraint for each choice. Called on the engine's thread.
class ConstraintSource {
 public:
  virtual ~ConstraintSource() = default;
  virtual std::unique_ptr<Constraint> make() const = 0;
};

struct TokenLogprob {
  int32_t token = 0;
  float logprob = 0;                           // raw log-softmax
  std::vector<std::pair<int32_t, float>> top;  // most probable first
};

// A token of a choice, and the text that it completes: it may be empty, or end with text of earlier tokens.
struct TokenEvent {
  int32_t token = 0;
  std::string text;
  std::optional<TokenLogprob> logprob;
};

enum class Finish { stop, length };

struct ChoiceEnd {
  Finish reason = Finish::stop;
  std::string text;                  // held back until the end
  std::optional<std::string> stop;   // the stop sequence that ended it
  std::optional<int32_t> end_token;  // or the end token
  int64_t tokens = 0;                // of the completion, an end token included
};

struct Usage {
  int64_t prompt = 0, cached = 0, completion = 0;
  int64_t drafted = 0, accepted = 0;  // tokens of the speculation
  double queue_seconds = 0, prompt_seconds = 0, decode_seconds = 0;
};

// Receives the answer to a request, on the engine's thread: it must not block. After failed() or done() nothing follows.
class Sink {
 public:
  virtual ~Sink() = default;
  // Log-probabilities of the prompt's tokens, if requested; the first has none. Before the first token.
  virtual void prompt(std::vector<std::optional<TokenLogprob>> /*logprobs*/) {}
  virtual void token(int64_t /*choice*/, TokenEvent /*event*/) {}
  virtual void end(int64_t /*choice*/, ChoiceEnd /*end*/) {}
  virtual void embedding(std::vector<float> /*values*/) {}
  virtual void done(const Usage&) = 0;
  virtual void failed(std::exception_ptr error) = 0;  // a hearth::Error
};

struct Request {
  std::vector<int32_t> prompt;
  int64_t max_tokens = 256;               // of each choice; limited to what the context has room for
  sampling::SamplingParameters sampling;  // choice k draws with seed + k
  std::vector<std::string> stop;          // stop sequences
  bool include_stop = false;              // they are part of the text
  std::vector<int32_t> end_tokens;        // end a choice
  bool show_special = false;              // special tokens are part of the text
  int64_t choices = 1;
  std::optional<int64_t> logprobs;         // of the completion's tokens, and of this many most probable ones
  std::optional<int64_t> prompt_logprobs;  // the same for the prompt
  std::shared_ptr<const ConstraintSource> constraint;
  bool embedding = false;  // the mean of the hidden states of the prompt, of length 1, in place of a completion
  int64_t priority = 0;    // lower is earlier
};

}  // namespace hearth::engine
