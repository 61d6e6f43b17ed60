// The transformer's tensors in its authors' layout (also ComfyUI's), and its sizes.
#pragma once

#include "weights/layout/network_files.h"

namespace hearth::models::hunyuan_dit {

// Layouts "original" and "diffusers".
extern const NetworkFiles transformer_files;

}  // namespace hearth::models::hunyuan_dit
