#pragma once

#include "weights/layout/image_files.h"

namespace hearth::models::sdxl_refiner {

extern const ImageFiles files;

}  // namespace hearth::models::sdxl_refiner
