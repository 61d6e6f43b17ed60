// The interface of language models, independent of their networks. A family implements LanguageModel (language_family.h); src/api
// converts it to the public interface.
#pragma once

#include <memory>
#include <span>

#include "core/backend.h"
#include "hearth/progress.h"

namespace hearth::models {

struct LanguageSizes {
  int64_t vocabulary = 0;  // rows of the logits; tokenizers may have fewer tokens
  int64_t positions = 0;   // that the model was trained for
};

// A text being processed by a model: its KV cache, or whatever the family stores of it.
class TextState {
 public:
  virtual ~TextState() = default;
  virtual int64_t length() const = 0;   // tokens seen
  virtual int64_t context() const = 0;  // tokens that there is room for
  virtual int64_t bytes() const = 0;    // that it takes now
  // Discards tokens from the end until at most `most` remain, and as many more as it takes to continue from what is stored: a recurrent
  // state only exists for some lengths, a windowed KV cache only for the last ones. Returns the new length, 0 if nothing remains.
  virtual int64_t shorten(int64_t most) = 0;
  // What is stored, part by part, for a file: dense tensors on a host. load() takes it into a text that was just started, by a model of the
  // same configuration; `context`: that of the text that was saved. Returns false, and remains empty, if a text of another context cannot
  // continue here. UsageError for more tokens than there is room for, WeightError for other parts.
  using Parts = std::vector<std::vector<Tensor>>;
  virtual Parts save() const = 0;
  virtual bool load(int64_t length, int64_t context, const Parts& saved) = 0;
};

class LanguageModel {
 public:
  virtual ~LanguageModel() = default;

  virtual LanguageSizes sizes() const = 0;

  // Room for a text of `context` tokens; cache: f32, f16, bf16 or q8_0.
  virtual std::unique_ptr<TextState> start(int64_t context, DType cache) const = 0;
  virtual int64_t cache_bytes(int64_t context, DType cache) const = 0;  // most memory that such a text takes
  // Feeds the next tokens, in batches chosen by the family. logits(row, values) is called in order for each token from `from` on, with
  // the logits [V] that follow it. UsageError for a token outside the vocabulary, or more tokens than there is room for.
  using OnLogits = std::function<void(int64_t token, std::span<const float> logits)>;
  virtual void feed(TextState& state, std::span<const int32_t> ids, int64_t from, const OnLogits& logits,
                    const OnProgress& progress = {}) = 0;
};

}  // namespace hearth::models
