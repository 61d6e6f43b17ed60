// What a layer of a decoder adds to the residual stream: attention, a recurrence, an MLP, experts. The blocks that several families share
// are next to this file; a family may bring its own (OwnBlock in config.h).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/tensor.h"

namespace hearth::parts {

// What the blocks of a pass know about its tokens.
struct Pass {
  int64_t first = 0;               // position of the first token
  std::span<const Tensor> rotary;  // for each of DecoderConfig::rotaries, the table of these positions [T, 2, R/2]
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
  // A state that cannot be shortened by itself keeps copies: it is asked after every `interval()` tokens, if that is not 0.
  virtual int64_t interval() const { return 0; }
  virtual void checkpoint(int64_t /*length*/) {}
};

class Block {
 public:
  virtual ~Block() = default;
  // x [T, C], the next tokens of the text → residual + block(x) [T, C], or block(x) if `residual` is undefined. The result for a position
  // does not depend on the other positions of the call.
  virtual Tensor operator()(const Tensor& x, const Tensor& residual, const Pass& pass, BlockState* state) const = 0;

  // The state of a text of at most `context` tokens; nullptr for a block without one. cache: dtype of keys and values.
  virtual std::unique_ptr<BlockState> start(int64_t /*context*/, DType /*cache*/) const { return nullptr; }
  virtual int64_t state_bytes(int64_t /*context*/, DType /*cache*/) const { return 0; }  // most that this state takes

  // Tokens of a call are at most this many.
  static constexpr int64_t chunk = 512;
};

}  // namespace hearth::parts
