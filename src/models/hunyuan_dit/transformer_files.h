// The transformer's tensors in its authors' layout (also ComfyUI's), and its sizes.
#pragma once

#include "weights/layout/network_files.h"

namespace hearth::models::hunyuan_dit {

// Layouts "original" and "diffusers".
extern const NetworkFiles transformer_files;

const NameMap& original_names();  // from the authors' names, also of what the transformer shares with its control networks

}  // namespace hearth::models::hunyuan_dit
