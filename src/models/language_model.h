// What a language model does, whatever its network is. A family implements LanguageModel (language_family.h); src/api turns it into the
// public interface.
#pragma once

#include <memory>
#include <span>

#include "core/backend.h"
#include "hearth/progress.h"

namespace hearth::models {

struct LanguageSizes {
  int64_t vocabulary = 0;  // rows of the logits; tokenizers may know fewer
  int64_t positions = 0;   // that the model was trained for
};

// A text on its way through a model: its keys and values, or whatever the family keeps of it.
class TextState {
 public:
  virtual ~TextState() = default;
  virtual int64_t length() const = 0;   // tokens seen
  virtual int64_t context() const = 0;  // tokens that it has room for
  virtual int64_t bytes() const = 0;
  // Forgets all but the first `length` tokens; false where what they left behind is gone, and then nothing changes.
  virtual bool shorten(int64_t length) = 0;
};

class LanguageModel {
 public:
  virtual ~LanguageModel() = default;

  virtual LanguageSizes sizes() const = 0;

  // Room for a text of `context` tokens; cache: f32, f16, bf16 or q8_0.
  virtual std::unique_ptr<TextState> start(int64_t context, DType cache) const = 0;
  virtual int64_t cache_bytes(int64_t context, DType cache) const = 0;  // what start() would take
  // Feeds the next tokens, in pieces of the family's own; logits(row, values) is called in order for each of them from `from` on, with
  // the logits [V] that follow it. UsageError for a token outside of the vocabulary or more than there is room for.
  using OnLogits = std::function<void(int64_t token, std::span<const float> logits)>;
  virtual void feed(TextState& state, std::span<const int32_t> ids, int64_t from, const OnLogits& logits,
                    const OnProgress& progress = {}) = 0;
};

}  // namespace hearth::models
