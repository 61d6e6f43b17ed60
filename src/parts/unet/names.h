// The names that UNets have in their makers' original files (CompVis' and Stability's `ldm` and `sgm`). What they depend on is taken from
// the tensors and serves the renaming alone: whether the network is the one that its configuration describes is seen when it is built.
//
// Oracle: diffusers 0.39.0, loaders/single_file_utils.py, on the full tensor lists of weights/layout/golden/keys.
#pragma once

#include "weights/layout/name_map.h"

namespace hearth::parts {

struct UnetBlocks {
  std::vector<int64_t> layers;   // residual blocks of each level on the way down; one more on the way up
  std::vector<bool> attends_up;  // whether the last of each up block is followed by attention, in the order of up_blocks
  bool class_embedding = false;  // label_emb is class_embedding (unCLIP), not add_embedding
};
UnetBlocks blocks_of_original(const TensorList& unet);
UnetBlocks blocks_of_official(const TensorList& unet);
NameMap unet_names(const UnetBlocks& blocks);

}  // namespace hearth::parts
