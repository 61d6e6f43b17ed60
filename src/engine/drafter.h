// Guesses at the next tokens of a text, which the model then checks in one pass: the tokens that come out are those it would have chosen
// without guesses, only sooner if the guesses are right.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "models/language_model.h"

namespace hearth::engine {

// Of one text.
class Drafts {
 public:
  virtual ~Drafts() = default;
  // At most `most` tokens that may follow `tokens`.
  virtual std::vector<int32_t> after(std::span<const int32_t> tokens, int64_t most) = 0;
};

class Drafter {
 public:
  virtual ~Drafter() = default;
  virtual std::unique_ptr<Drafts> start() const = 0;
};

// Prompt lookup: what followed the last place where the text's last tokens, three or two of them, occurred before.
std::shared_ptr<const Drafter> ngram_drafter();

// A smaller model with the same vocabulary, which outlives the drafter. context: most tokens of a text.
std::shared_ptr<const Drafter> model_drafter(models::LanguageModel& model, int64_t context, DType cache);

// Decides whether drafts are worth their time: it measures tokens per second with and without them, for about the same number of texts,
// and tries the slower way again now and then.
class DraftControl {
 public:
  bool use(int64_t texts);  // in the next pass
  void measured(int64_t texts, bool used, int64_t tokens, double seconds);

 private:
  struct Rate {
    double tokens = 0, seconds = 0;
    int64_t passes = 0;
    double value() const { return seconds > 0 ? tokens / seconds : 0; }
  };
  struct Bucket {
    Rate with, without;
    int64_t passes = 0;
  };
  Bucket& bucket(int64_t texts);

  std::vector<Bucket> buckets_;  // by the logarithm of the number of texts
};

}  // namespace hearth::engine
