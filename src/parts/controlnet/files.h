// ControlNetModel and ControlNetUnionModel in checkpoint files.
#pragma once

#include "weights/layout/network_files.h"

namespace hearth::parts {

extern const NetworkFiles controlnet_files;  // layouts "original" (the authors') and "diffusers"

}  // namespace hearth::parts
