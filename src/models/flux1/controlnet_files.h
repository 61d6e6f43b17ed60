// FluxControlNetModel in checkpoint files.
#pragma once

#include "weights/layout/image_files.h"

namespace hearth::models::flux1 {

// Layouts "diffusers" and "XLabs": Black Forest Labs' names, and XLabs' for what a ControlNet has besides.
extern const NetworkFiles controlnet_files;

std::vector<NetworkPlace> control_places();  // ImageFamily::controls

}  // namespace hearth::models::flux1
