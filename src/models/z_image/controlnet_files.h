// ZImageControlNetModel in checkpoint files.
#pragma once

#include "weights/layout/image_files.h"

namespace hearth::models::z_image {

extern const NetworkFiles controlnet_files;  // published files have diffusers' names

std::vector<NetworkPlace> control_places();  // ImageFamily::controls
Signature control_signature();

}  // namespace hearth::models::z_image
