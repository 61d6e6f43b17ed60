// The transformer's tensors in its authors' layout (also ComfyUI's), and its sizes.
#pragma once

#include "weights/layout/network_files.h"

namespace hearth::models::pixart {

// Layouts "original" and "diffusers". Files of the authors also have the learned text of empty prompts and the table of positions, which no
// program uses; their sizes tell which of the published models it is.
extern const NetworkFiles transformer_files;

}  // namespace hearth::models::pixart
