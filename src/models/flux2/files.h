#pragma once

#include "weights/layout/image_files.h"

namespace hearth::models::flux2 {

extern const ImageFiles files;

}  // namespace hearth::models::flux2
