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

// Pages that texts share (LanguageModel::make_pool). A page has room for the keys and values of page() consecutive tokens, in all layers
// with the same window.
class TextPool {
 public:
  virtual ~TextPool() = default;

  struct Group {
    int64_t window = 0;           // 0: the layers see everything
    int64_t bytes = 0;            // of a page
    int64_t pages = 0, free = 0;  // in the pool
  };
  virtual std::vector<Group> groups() const = 0;
  virtual int64_t page() const = 0;
};

// A page that a text has filled, kept for texts that begin with the same tokens.
class TextPage {
 public:
  virtual ~TextPage() = default;
  virtual int64_t releasable() const = 0;  // pages of the pool that are free once it is gone
};

// A text in a pool.
class PooledText : public TextState {
 public:
  // Takes the pages for a text of `length` tokens. Returns false, and takes nothing, if the pool has too few.
  virtual bool reserve(int64_t length) = 0;
  virtual std::vector<int64_t> missing(int64_t length) const = 0;  // pages of each group that reserve() would take
  virtual void forget() = 0;                                       // releases pages that no further token attends to

  // What is stored besides pages, and the text at that length again; the pages of its tokens must still be there.
  virtual Parts snapshot() const = 0;
  virtual void restore(int64_t length, const Parts& saved) = 0;
  // Page i, which is full; and an empty text begun with such pages, and the snapshot made behind them.
  virtual std::shared_ptr<TextPage> share(int64_t i) const = 0;
  virtual void begin_with(std::span<const std::shared_ptr<TextPage>> pages, const Parts& snapshot) = 0;
  // An empty text begun with everything that `other` stores; pages are copied when one of the two continues.
  virtual void begin_like(const PooledText& other) = 0;
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

  // --- many texts at once -----------------------------------------------------------------------------------------
  struct Pooling {
    std::vector<TextPool::Group> groups;  // windows and bytes
    int64_t page = 0;
    int64_t state_bytes = 0;  // of a text besides its pages: recurrences; a text can be begun only where there is a snapshot of them
    bool reusable = true;     // false if stored keys depend on the length of their text
  };
  // UnsupportedError if the model's texts cannot share memory.
  virtual Pooling pooling(DType cache) const;
  virtual std::shared_ptr<TextPool> make_pool(DType cache, std::span<const int64_t> pages) const;
  virtual std::unique_ptr<PooledText> start(std::shared_ptr<TextPool> pool, int64_t context) const;
  // The next tokens of some texts of one pool, which have reserved pages, in one pass: at most pass_tokens() in all. logits(row, values)
  // as in feed(). `length`: of the text once all its tokens are fed, also those of later passes.
  struct Slice {
    PooledText* text;
    std::span<const int32_t> ids;
    int64_t from = 0, length = 0;
    OnLogits logits;
    // Receives the hidden state [C] of each token after the last norm, if it is set.
    std::function<void(int64_t token, std::span<const float> hidden)> hidden = {};
  };
  virtual void feed(std::span<const Slice> slices);
  virtual int64_t pass_tokens() const { return 512; }
};

}  // namespace hearth::models
