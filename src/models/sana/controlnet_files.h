// SanaControlNetModel in checkpoint files.
#pragma once

#include "weights/layout/image_files.h"

namespace hearth::models::sana {

extern const NetworkFiles controlnet_files;  // in diffusers' layout

std::vector<NetworkPlace> control_places();  // ImageFamily::controls
Signature control_signature();

}  // namespace hearth::models::sana
