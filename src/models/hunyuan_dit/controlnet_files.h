// HunyuanDiT2DControlNetModel in checkpoint files.
#pragma once

#include "weights/layout/image_files.h"

namespace hearth::models::hunyuan_dit {

// Layouts "original", the authors' and ComfyUI's, and "diffusers".
extern const NetworkFiles controlnet_files;

std::vector<NetworkPlace> control_places();  // ImageFamily::controls
std::vector<Signature> control_signatures();

}  // namespace hearth::models::hunyuan_dit
