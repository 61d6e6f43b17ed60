// The names of the transformer's tensors in its authors' layout (Stability AI's, also ComfyUI's), and its sizes.
#pragma once

#include "weights/layout/network_files.h"

namespace hearth::models::sd3 {

// From a number of blocks. In the authors' layout the scale and shift of the last norm and of the last block's text norm are swapped.
NameMap mmdit_names(int64_t blocks);

// Layouts "original" and "diffusers".
extern const NetworkFiles mmdit_files;

}  // namespace hearth::models::sd3
