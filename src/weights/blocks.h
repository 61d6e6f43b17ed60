// The repeated blocks of a network, one after the other. They need not all be in memory: what a loop over them reaches is there, and stays
// until the loop moves on.
//
//   struct Transformer {
//     Transformer(const Scope& w, const Config& c)
//         : blocks(w / "blocks", c.layers, [c](const Scope& block) { return Block(block, c); }) {}
//     Blocks<Block> blocks;  // blocks.i
//   };
//   for (const Block& block : blocks) x = block(x);
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "weights/block_stream.h"

namespace hearth {

// Copies share their blocks. Safe from several threads, each with its own loop.
template <class Block> class Blocks {
 public:
  Blocks() = default;
  // Block i is build(w / i), or build(w / i, i). `build` is kept and called again for blocks that do not stay in memory
  // (LoadOptions::resident), so it must own what it uses, and return equal blocks every time.
  template <class Build> Blocks(const Scope& w, int64_t count, Build build) : stream_(w.weights().stream()) {
    for (int64_t i = 0; i < count; ++i) {
      const auto one = [build, i](const Scope& scope) { return std::shared_ptr<const Block>(new const Block(call(build, scope, i))); };
      if (stream_) {
        const size_t index = stream_->add(w / i, one);
        if (i == 0) first_ = index;
      } else {
        blocks_.push_back(one(w / i));
        w.weights().count_block(true);
      }
    }
    size_ = size_t(count);
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // Block i, which is in memory as long as the result is held.
  std::shared_ptr<const Block> operator[](size_t i) const {
    if (!stream_) return blocks_.at(i);
    return std::static_pointer_cast<const Block>(stream_->get(first_ + i));
  }

  // A loop over all blocks in order. A block is valid until the loop moves on; nothing may refer to it afterwards. Errors of loading a
  // block: WeightError, IoError. Canceled.
  class Iterator {
   public:
    Iterator(Iterator&&) = default;
    Iterator& operator=(Iterator&&) = delete;

    const Block& operator*() const {
      if (!block_) reach();
      return *block_;
    }
    const Block* operator->() const { return &**this; }
    Iterator& operator++() {
      if (block_ && blocks_->stream_) blocks_->stream_->finish_work();
      block_ = nullptr;
      ++i_;
      return *this;
    }
    size_t index() const { return i_; }
    bool operator==(const Iterator& other) const { return i_ == other.i_; }

   private:
    friend class Blocks;
    Iterator(const Blocks& blocks, size_t i) : blocks_(&blocks), i_(i) {}
    void reach() const {
      BlockStream* const stream = blocks_->stream_.get();
      if (stream && !loop_) loop_ = std::make_unique<BlockStream::Loop>(*stream);
      block_ = (*blocks_)[i_];
      if (stream) stream->load_after(blocks_->first_ + i_);
    }

    const Blocks* blocks_;
    size_t i_;
    mutable std::unique_ptr<BlockStream::Loop> loop_;
    mutable std::shared_ptr<const Block> block_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size_}; }

 private:
  template <class Build> static Block call(const Build& build, const Scope& w, int64_t i) {
    if constexpr (std::is_invocable_v<const Build&, const Scope&, int64_t>) return build(w, i);
    else return build(w);
  }

  std::shared_ptr<BlockStream> stream_;               // null if all blocks stay in memory:
  std::vector<std::shared_ptr<const Block>> blocks_;  // these
  size_t first_ = 0, size_ = 0;                       // index of block 0 in the stream; count
};

}  // namespace hearth
