#pragma once

#include "weights/layout/image_files.h"

namespace hearth::models::sdxl {

extern const ImageFiles files;

}  // namespace hearth::models::sdxl
