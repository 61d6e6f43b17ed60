// The networks' tensors in their authors' layout (also ComfyUI's), and their sizes.
#pragma once

#include "weights/layout/network_files.h"

namespace hearth::models::stable_cascade {

// Layouts "original" and "diffusers". A file without a configuration has that of the published network of its sizes.
extern const NetworkFiles stage_c_files, stage_b_files;
// Layout "diffusers", which is also the authors'.
extern const NetworkFiles stage_a_files;
// The text encoder in ComfyUI's file of stage C, whose projection is next to the network: layout "comfyui".
extern const NetworkFiles comfyui_text_files;

}  // namespace hearth::models::stable_cascade
