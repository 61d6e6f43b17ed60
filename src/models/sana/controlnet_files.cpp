#include "models/sana/controlnet_files.h"

#include "models/slots.h"

namespace hearth::models::sana {

const NetworkFiles controlnet_files{
    .classes = {"SanaControlNetModel"},
    .spellings = {{.name = "diffusers",
                   .marks = {"controlnet_blocks.0.weight", "input_block.weight", "caption_norm.weight",
                             "transformer_blocks.0.ff.conv_inverted.weight"}}},
    .ignored = {"patch_embed.pos_embed"},
};

std::vector<NetworkPlace> control_places() { return {{"", &controlnet_files, &slots::control}}; }

Signature control_signature() {
  return {.part = "control",
          .what = "ControlNet of SANA",
          .layout = "diffusers",
          .prefixes = {""},
          .present = {{"controlnet_blocks.0.weight", {}}, {"input_block.weight", {}}, {"caption_norm.weight", {}}},
          .absent = {}};
}

}  // namespace hearth::models::sana
