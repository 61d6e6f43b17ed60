// Which blocks of a network are on the card of a device that has two sides (core/side.h), and which on its host.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/side.h"

namespace hearth {

// The block of a tensor: the first number of its name and what is in front of it, "model.layers.3", "transformer_blocks.7". The levels of
// a U-shaped network are not blocks, but what they consist of: "down_blocks.1.attentions.0". Empty for a tensor outside of blocks, which
// has no number, or is itself what is numbered ("t_embedder.mlp.0.weight").
std::string block_of(const std::string& tensor);
// The blocks of these tensors, in the order of their first tensors.
std::vector<std::string> blocks_of(std::span<const std::string> tensors);

// The first of a network's blocks are on the card. What is outside of blocks is there if all of them are.
class Offload {
 public:
  // A network without blocks is on the card unless on_card is 0.
  Offload(std::span<const std::string> blocks, int64_t on_card);

  Side side_of(const std::string& tensor) const;
  int64_t blocks_on_card() const { return int64_t(on_card_.size()); }

 private:
  std::set<std::string> on_card_;
  bool all_;
};

}  // namespace hearth
