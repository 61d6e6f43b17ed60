#pragma once

#include "weights/layout/image_files.h"

namespace hearth::models::flux1 {

extern const ImageFiles files;

}  // namespace hearth::models::flux1
