// Networks that work on images tile by tile, as in the reference's tiled encoding and decoding: tiles overlap and are blended there.
#pragma once

#include <functional>

#include "core/tensor.h"

namespace hearth::parts {

// Tiles with sides of `side` start every `step` of the input; of each output `kept` remains, whose first `extent` is blended with the tile
// before. Rests of less than `least` have no output.
struct Tiles {
  int64_t side, step, least, kept, extent;
};

// The network's outputs for the tiles of x [B, H, W, C], joined on a host; the network maps [B, h, w, C] to [B, f·h, f·w, D] for some f.
Tensor in_tiles(const Tensor& x, const Tiles& tiles, const std::function<Tensor(const Tensor&)>& network);

}  // namespace hearth::parts
