// The names of UNets in their publishers' original files (CompVis' and Stability's `ldm` and `sgm`). Their variable parts are derived from
// the tensors, for renaming only; whether the network matches its configuration is checked when it is built.
//
// Oracle: diffusers 0.39.0, loaders/single_file_utils.py, on the full tensor lists of weights/layout/golden/keys.
#pragma once

#include "weights/layout/name_map.h"

namespace hearth::parts {

struct UnetBlocks {
  std::vector<int64_t> layers;   // residual blocks of each level in the down path; one more in the up path
  std::vector<bool> attends_up;  // whether the last of each up block is followed by attention, in the order of up_blocks
  bool class_embedding = false;  // label_emb is class_embedding (unCLIP), not add_embedding
};
UnetBlocks blocks_of_original(const TensorList& unet);
UnetBlocks blocks_of_official(const TensorList& unet);
NameMap unet_names(const UnetBlocks& blocks);

}  // namespace hearth::parts
