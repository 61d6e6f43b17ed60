// QwenImageControlNetModel in checkpoint files.
#pragma once

#include "weights/layout/image_files.h"

namespace hearth::models::qwen_image {

extern const NetworkFiles controlnet_files;  // layout "diffusers", ComfyUI's, too

std::vector<NetworkPlace> control_places();  // ImageFamily::controls

}  // namespace hearth::models::qwen_image
