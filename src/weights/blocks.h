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
#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

#include "weights/scope.h"

namespace hearth {

// Copies share their blocks. Safe from several threads, each with its own loop.
template <class Block> class Blocks {
 public:
  Blocks() = default;
  // Block i is build(w / i), or build(w / i, i). `build` is kept and called again for blocks that do not stay in memory, so it must own
  // what it uses, and return equal blocks every time.
  template <class Build> Blocks(const Scope& w, int64_t count, Build build) {
    for (int64_t i = 0; i < count; ++i) blocks_.emplace_back(new const Block(call(build, w / i, i)));
  }

  size_t size() const { return blocks_.size(); }
  bool empty() const { return blocks_.empty(); }

  // Block i, which stays in memory as long as the result.
  std::shared_ptr<const Block> operator[](size_t i) const { return blocks_.at(i); }

  // A loop over all blocks in order. A block is valid until the loop moves on; nothing may refer to it afterwards.
  class Iterator {
   public:
    const Block& operator*() const {
      if (!block_) block_ = (*blocks_)[i_];
      return *block_;
    }
    const Block* operator->() const { return &**this; }
    Iterator& operator++() {
      block_ = nullptr;
      ++i_;
      return *this;
    }
    size_t index() const { return i_; }
    bool operator==(const Iterator& other) const { return i_ == other.i_; }

   private:
    friend class Blocks;
    Iterator(const Blocks& blocks, size_t i) : blocks_(&blocks), i_(i) {}
    const Blocks* blocks_;
    size_t i_;
    mutable std::shared_ptr<const Block> block_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }

 private:
  template <class Build> static Block call(const Build& build, const Scope& w, int64_t i) {
    if constexpr (std::is_invocable_v<Build, const Scope&, int64_t>) return build(w, i);
    else return build(w);
  }

  std::vector<std::shared_ptr<const Block>> blocks_;
};

}  // namespace hearth
