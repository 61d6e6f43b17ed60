#pragma once

#include "weights/layout/image_files.h"

namespace hearth::models::pixart {

extern const ImageFiles files;

}  // namespace hearth::models::pixart
