// SD3ControlNetModel in checkpoint files.
#pragma once

#include "weights/layout/image_files.h"

namespace hearth::models::sd3 {

// Layouts "diffusers" and "original": the single files of Stability, whose blocks see the image alone.
extern const NetworkFiles controlnet_files;

// The scalar in a file of Stability that says what it was trained on, under its official name.
inline constexpr std::string_view control_type = "control_type";

std::vector<NetworkPlace> control_places();  // ImageFamily::controls

}  // namespace hearth::models::sd3
