// The name maps of Stable Diffusion's original files (CompVis' and Stability's `ldm` and `sgm`) and OpenCLIP's. Layer counts are taken from
// the tensors and serve the renaming alone: whether the network is the one that its configuration describes is seen when it is built.
//
// Oracle: diffusers 0.39.0, loaders/single_file_utils.py, on the full tensor lists of golden/keys.
#pragma once

#include "weights/layout/name_map.h"

namespace hearth {

// What the names of a UNet2DConditionModel depend on.
struct UnetBlocks {
  std::vector<int64_t> layers;   // residual blocks of each level on the way down; one more on the way up
  std::vector<bool> attends_up;  // whether the last of each up block is followed by attention, in the order of up_blocks
  bool class_embedding = false;  // label_emb is class_embedding (unCLIP), not add_embedding (SDXL)
};
UnetBlocks blocks_of_original(const TensorList& unet);
UnetBlocks blocks_of_official(const TensorList& unet);
NameMap unet_names(const UnetBlocks& blocks);

int64_t levels_of_original_autoencoder(const TensorList& vae);
int64_t levels_of_official_autoencoder(const TensorList& vae);
NameMap autoencoder_kl_names(int64_t levels);

// The decoder of the published AutoencoderTiny as its maker's file has it: numbers alone, one more than the official ones, because the
// limit on latents comes first.
const NameMap& tiny_decoder_names();

const NameMap& open_clip_names();  // OpenCLIP's text tower ↔ CLIPTextModelWithProjection
const NameMap& clip_names();       // transformers' CLIPTextModel, as old files have it too: without `text_model.`

}  // namespace hearth
