#pragma once

#include "weights/layout/image_files.h"

namespace hearth::models::z_image {

extern const ImageFiles files;

}  // namespace hearth::models::z_image
