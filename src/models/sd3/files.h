#pragma once

#include "weights/layout/image_files.h"

namespace hearth::models::sd3 {

extern const ImageFiles files;

}  // namespace hearth::models::sd3
