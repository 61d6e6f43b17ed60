// AutoencoderKLQwenImage in checkpoint files.
#pragma once

#include "weights/layout/network_files.h"

namespace hearth::parts {

// Layouts "original" (Wan's own files, and ComfyUI's) and "diffusers".
extern const NetworkFiles autoencoder_wan_files;

}  // namespace hearth::parts
