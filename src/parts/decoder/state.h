// What a decoder stores of a text: keys and values in pages of a pool, and the states of its other blocks.
#pragma once

#include "parts/decoder/block.h"

namespace hearth::parts {

// Keys and values of the texts of one decoder. Layers with the same window form a group; a page of a group has room for the same `page`
// positions in all its layers.
struct DecoderPool {
  struct Group {
    int64_t window = 0;  // 0: the layers see everything
    int64_t bytes = 0;   // of a page
    std::shared_ptr<nn::PagePool> pages = {};
  };

  static constexpr int64_t page = 16;
  // The pages for `positions` consecutive positions, wherever they begin.
  static int64_t pages_for(int64_t positions) { return (positions + page - 1) / page + 1; }

  int64_t bytes() const;
  void copy_page(size_t group, int32_t from, int32_t to) const;

  std::vector<Group> groups;
  std::vector<std::shared_ptr<nn::KvPages>> layers;  // by block, as DecoderState::blocks; nullptr for a block without keys
  std::vector<size_t> group_of;                      // by block
};

// A page of each group that a text has filled, kept for other texts; `none` for groups whose window has left it behind.
class DecoderPage {
 public:
  DecoderPage(std::shared_ptr<DecoderPool> pool, std::vector<int32_t> pages);
  ~DecoderPage();
  DecoderPage(const DecoderPage&) = delete;
  DecoderPage& operator=(const DecoderPage&) = delete;

  const std::vector<int32_t>& pages() const { return pages_; }
  int64_t releasable() const;  // pages that are free once it is gone: those without another user

 private:
  std::shared_ptr<DecoderPool> pool_;
  std::vector<int32_t> pages_;
};

// The state of a text; the network itself has none.
struct DecoderState {
  std::vector<std::unique_ptr<BlockState>> blocks;  // two for each layer, its mixer's and its MLP's; nullptr for a block without state
  std::shared_ptr<DecoderPool> pool = {};
  std::vector<std::shared_ptr<nn::PageTable>> tables = {};  // by group
  bool alone = true;                                        // the pool belongs to this text
  int64_t length = 0, context = 0;                          // tokens stored, and room
  bool stretches = false;                                   // stored keys were rotated by angles that depend on the length at that time
  std::vector<int64_t> limits = {};                         // contexts up to which and beyond which positions are rotated otherwise

  int64_t bytes() const;
  // Takes the pages for a text of `to` tokens, and copies the last one if other texts share it. Returns false, and takes nothing, if the
  // pool has too few.
  bool reserve(int64_t to);
  int64_t missing(size_t group, int64_t to) const;  // pages that reserve() would take
  void forget();                                    // releases the pages that no further token attends to

  // Discards tokens from the end until at most `most` remain, and further to the next length that all blocks can continue from. Returns
  // the new length.
  int64_t shorten(int64_t most);
  // What is stored, block by block (BlockState::save), and back into a state that was just started. Returns false if a text of another
  // context cannot continue here, because positions would be rotated otherwise; `context`: of the state that was saved. UsageError for more
  // tokens than there is room for, WeightError for other blocks.
  using Saved = std::vector<std::vector<Tensor>>;
  Saved save() const;
  bool load(int64_t length, int64_t context, std::span<const std::vector<Tensor>> saved);
  // The same without keys and values, which stay in their pages. An empty snapshot restores a text whose blocks store nothing else.
  Saved snapshot() const;
  void restore(int64_t length, const Saved& saved);

  // Page i, which the text has filled, for other texts; and a text that begins with such pages, and the snapshot made behind them.
  std::shared_ptr<DecoderPage> share(int64_t i) const;
  void begin_with(std::span<const std::shared_ptr<DecoderPage>> pages, const Saved& snapshot);
  // Everything that `other` has stored, shared with it until one of them continues.
  void begin_like(const DecoderState& other);

  // How many of the next `count` tokens to compute in one pass: at most Block::chunk, up to the next checkpoint.
  int64_t piece(int64_t count) const;
};

}  // namespace hearth::parts
