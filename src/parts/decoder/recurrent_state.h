// The state of a recurrence over the tokens of a text: tensors of constant size, which the ops of ops/recurrence.h update.
//
// It cannot be computed backwards, so that a text is shortened to a checkpoint: a copy of the tensors after every `spacing` tokens. At most
// `most_checkpoints` are kept, the newest ones and fewer of the older ones: when there is no room for another, the checkpoint between the
// two neighbors that are closest to each other in relation to their distance from the end is dropped. A checkpoint takes memory from when
// it is made until it is dropped. After shorten(length) the caller feeds the tokens from there on again: at most spacing − 1 more than it
// wanted if the text is shortened by little, more if it is shortened by much, and all of them if no checkpoint remains, as in a state that
// was loaded from a file.
#pragma once

#include "parts/decoder/block.h"

namespace hearth::parts {

class RecurrentState final : public BlockState {
 public:
  static constexpr int64_t spacing = 256, most_checkpoints = 8;

  // f32 tensors of these shapes, zeros: in an empty text. context: most tokens of the text.
  RecurrentState(Backend& backend, std::span<const Shape> shapes, int64_t context);
  static int64_t bytes_for(std::span<const Shape> shapes, int64_t context);  // most that such a state takes, with all its checkpoints

  // The state after the tokens so far. Ops write to them.
  const std::vector<Tensor>& tensors() const { return now_; }

  int64_t bytes() const override { return (1 + std::ssize(kept_)) * copy_bytes_; }
  int64_t reachable(int64_t stored, int64_t length) const override;
  void shorten(int64_t length) override;
  // The tensors in this order, bit by bit, at the length that the state has now. A loaded state has no checkpoints.
  std::vector<Tensor> save(int64_t length) const override;
  void load(int64_t length, std::span<const Tensor> saved) override;
  int64_t interval() const override { return most_ == 0 ? 0 : spacing; }
  void checkpoint(int64_t length) override;

 private:
  struct Checkpoint {
    int64_t length = 0;
    std::vector<Tensor> tensors;
  };
  std::vector<Tensor> room();  // for another checkpoint: new tensors, or those of one that is dropped

  std::vector<Tensor> now_;
  std::vector<Checkpoint> kept_;  // by length
  int64_t most_ = 0;              // checkpoints
  int64_t copy_bytes_ = 0;        // of the tensors once
};

// A block whose state is a RecurrentState.
class Recurrence : public Block {
 public:
  std::unique_ptr<BlockState> start(std::unique_ptr<PagedState>, int64_t context) const final;
  int64_t state_bytes(int64_t context) const final;

 protected:
  // shapes: of the state's tensors
  Recurrence(Backend& backend, std::vector<Shape> shapes) : backend_(&backend), shapes_(std::move(shapes)) {}
  // y [T, …]: for each text of the pass f(text, tensors of its state), one below the other.
  template <class F> static Tensor by_text(const Pass& pass, States states, const F& f) {
    return parts::by_text<RecurrentState>(pass, states,
                                          [&](const Slice& text, const RecurrentState& state) { return f(text, state.tensors()); });
  }

 private:
  Backend* backend_;
  std::vector<Shape> shapes_;
};

}  // namespace hearth::parts
