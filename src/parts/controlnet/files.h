// ControlNetModel, ControlNetUnionModel and Control-LoRA in checkpoint files.
#pragma once

#include "weights/layout/network_files.h"

namespace hearth::parts {

extern const NetworkFiles controlnet_files;    // layouts "original" (the authors') and "diffusers"
extern const NetworkFiles control_lora_files;  // control_lora.h; layout "original"

}  // namespace hearth::parts
