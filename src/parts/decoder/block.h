// What a layer of a decoder adds to the residual stream: attention, a recurrence, an MLP, experts. The blocks that several families share
// are next to this file; a family may bring its own (OwnBlock in config.h).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "nn/kv_pages.h"
#include "ops/shape_ops.h"

namespace hearth::parts {

// The next tokens of one text, in a pass.
struct Slice {
  int64_t begin = 0, count = 0;  // rows of x
  int64_t first = 0;             // position of the first token
  // Of padding: its rows attend to this many positions, the first of the text, and not to each other, and nothing is stored of them.
  std::optional<int64_t> sees = {};

  Tensor of(const Tensor& x) const { return x.slice(0, begin, begin + count); }
};

// What the blocks of a pass know about its tokens: those of text after text.
struct Pass {
  std::span<const Slice> texts;
  std::span<const Tensor> rotary;  // for each of DecoderConfig::rotaries, the table of the tokens' positions [T, 2, R/2]
  Tensor embeddings;               // [T, C]: what the first layer receives
  Tensor* shared = nullptr;        // what a block leaves for those of further layers: the values of the first layer in RWKV-7
};

// What a block stores of one text.
class BlockState {
 public:
  virtual ~BlockState() = default;
  virtual int64_t bytes() const = 0;  // that it takes now
  // The state covers `stored` tokens: the largest length of at most `length` to which it can be shortened, if only to 0.
  virtual int64_t reachable(int64_t stored, int64_t length) const = 0;
  virtual void shorten(int64_t /*length*/) {}  // to a length that is reachable
  // What it stores of `length` tokens, for a file: dense tensors on a host.
  virtual std::vector<Tensor> save(int64_t length) const = 0;
  // The same back, into a state that was just started. WeightError for tensors that such a state does not have.
  virtual void load(int64_t length, std::span<const Tensor> saved) = 0;
  // The same without keys and values, which stay in their pages, at the length that the state has now.
  virtual std::vector<Tensor> snapshot(int64_t length) const { return save(length); }
  virtual void restore(int64_t length, std::span<const Tensor> saved) { load(length, saved); }
  // A state that cannot be shortened by itself keeps copies: it is asked after every `interval()` tokens, if that is not 0.
  virtual int64_t interval() const { return 0; }
  virtual void checkpoint(int64_t /*length*/) {}
};

// Keys and values of one text, in the pages of its pool. The text owns the table, and shortens it.
class PagedState final : public BlockState {
 public:
  PagedState(std::shared_ptr<nn::KvPages> pages, std::shared_ptr<nn::PageTable> table)
      : pages_(std::move(pages)), table_(std::move(table)) {}

  // k and v [T, G, D] of the text's tokens in a pass → what their queries attend to.
  KeyValues store(const Slice& text, const Tensor& k, const Tensor& v = {}) { return pages_->store(*table_, text.first, k, v); }
  // What one row of padding attends to: the first positions, at least one.
  KeyValues seen(int64_t positions) const { return pages_->seen(*table_, positions); }
  const nn::KvLayout& layout() const { return pages_->layout(); }

  int64_t bytes() const override { return 0; }  // the text counts its pages
  int64_t reachable(int64_t stored, int64_t length) const override;
  std::vector<Tensor> save(int64_t length) const override { return pages_->save(*table_, table_->oldest(), length); }
  void load(int64_t length, std::span<const Tensor> saved) override { pages_->load(*table_, table_->oldest(), length, saved); }
  std::vector<Tensor> snapshot(int64_t) const override { return {}; }
  void restore(int64_t, std::span<const Tensor>) override {}

 private:
  std::shared_ptr<nn::KvPages> pages_;
  std::shared_ptr<nn::PageTable> table_;
};

// For each text of a pass, this block's state.
using States = std::span<BlockState* const>;

// Stores the keys and values of a pass [T, G, D] with the texts that they belong to → what the queries of each text attend to.
std::vector<KeyValues> stored_keys(const Pass& pass, States states, const Tensor& k, const Tensor& v = {});

class Block {
 public:
  virtual ~Block() = default;
  // x [T, C], the next tokens of some texts → residual + block(x) [T, C], or block(x) if `residual` is undefined. The result for a position
  // does not depend on the other positions and texts of the call.
  virtual Tensor operator()(const Tensor& x, const Tensor& residual, const Pass& pass, States states) const = 0;

  // The keys and values that it stores of each position, if it does.
  virtual std::optional<nn::KvLayout> stored() const { return {}; }
  // The state of a text of at most `context` tokens; nullptr for a block without one. keys: a state for stored(), or nullptr.
  virtual std::unique_ptr<BlockState> start(std::unique_ptr<PagedState> keys, int64_t /*context*/) const { return keys; }
  // Bytes of start(), without keys and values.
  virtual int64_t state_bytes(int64_t /*context*/) const { return 0; }

  // Tokens of a call are at most this many.
  static constexpr int64_t chunk = 512;
};

// The state of a text, in the class that the block started.
template <class State> State& as(BlockState* state) { return static_cast<State&>(*state); }

// y [T, …]: for each text of the pass f(text, state of that text), one below the other.
template <class State, class F> Tensor by_text(const Pass& pass, States states, const F& f) {
  if (pass.texts.size() == 1) return f(pass.texts[0], as<State>(states[0]));
  std::vector<Tensor> all;
  for (size_t i = 0; i < pass.texts.size(); ++i) all.push_back(f(pass.texts[i], as<State>(states[i])));
  return ops::concat(all, 0);
}

}  // namespace hearth::parts
