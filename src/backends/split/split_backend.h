// A device made of two: a card, and the backend of its host. Each weight is on one of them; what is computed with it is computed there, so
// that the blocks of a network that a card has no room for run on the host. Networks and ops see one device.
#pragma once

#include <functional>
#include <memory>

#include "core/backend.h"
#include "core/side.h"

namespace hearth {

// How often and how much went from one side to the other: whole tensors that an op needed, uploads to the card, downloads from it.
struct SplitTransfers {
  int64_t up = 0, down = 0;              // times
  int64_t bytes_up = 0, bytes_down = 0;  // "up" is to the card
};

// Where the ops run:
//   with a weight, where the weight is: on the side that SideScope named when it was prepared, by default the card
//   with a tensor that was uploaded in a SideScope (a bias, the scale of a norm, a table), on that side
//   that writes part of a tensor, or updates it (keys and values, a state), where its contents are
//   with inputs that were only uploaded so far, on the host
//   any other, where the last op with a weight ran: a block's activations cross once, whatever its first op is.
// A tensor is in memory where it was written, and also where it was read since. What the card computes equals what it computes alone, and
// so does what the host computes.
class SplitBackend : public Backend {
 public:
  virtual Backend& card() = 0;  // and host()
  virtual SplitTransfers transfers() const = 0;
};

// host: on which the card's tensors can be uploaded from; nullptr: card->host(), which must differ from the card. undecided: the side of
// what no rule decides, for tests; absent: as above.
std::unique_ptr<SplitBackend> make_split_backend(std::shared_ptr<Backend> card, std::shared_ptr<Backend> host = nullptr,
                                                 std::function<Side()> undecided = {});

}  // namespace hearth
