// What the control networks of several transformers have in common. A network of this kind outputs one tensor for each of its blocks, and
// its transformer adds them after blocks of its own.
#pragma once

#include "models/diffusion/control.h"

namespace hearth::models::diffusion {

// UsageError in guess mode, which only ControlNets of a UNet have. `where`: the network's file.
void refuse_guess(const ControlSettings& settings, const std::string& where);

// x [B, h, w, C] with one more channel: 1 where the mask [1, h, w, 1] covers nothing, 0 where it does.
Tensor with_kept(const Tensor& x, const Tensor& mask);

// The tensors of all blocks, each times the scale. Those of networks with as many blocks are added to each other.
ControlOutput output_of_blocks(std::vector<Tensor> blocks, double scale);

// What output_of_blocks() of all networks gave: a list for each number of blocks.
std::vector<std::vector<Tensor>> lists_of_blocks(const TensorLists& lists);

}  // namespace hearth::models::diffusion
