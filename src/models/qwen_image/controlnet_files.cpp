#include "models/qwen_image/controlnet_files.h"

#include "models/slots.h"

namespace hearth::models::qwen_image {

const NetworkFiles controlnet_files{
    .classes = {"QwenImageControlNetModel"},
    .spellings = {{.name = "diffusers",
                   .marks = {"controlnet_blocks.0.weight", "controlnet_x_embedder.weight", "transformer_blocks.0.img_mod.1.weight"}}},
};

std::vector<NetworkPlace> control_places() { return {{"", &controlnet_files, &slots::control}}; }

}  // namespace hearth::models::qwen_image
