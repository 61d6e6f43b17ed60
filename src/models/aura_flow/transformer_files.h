// The transformer's tensors in its authors' layout (also ComfyUI's and GGUF files'), and its sizes.
#pragma once

#include "weights/layout/network_files.h"

namespace hearth::models::aura_flow {

// Layouts "original" and "diffusers".
extern const NetworkFiles transformer_files;

}  // namespace hearth::models::aura_flow
