#pragma once

#include "weights/layout/image_files.h"

namespace hearth::models::sana {

extern const ImageFiles files;

}  // namespace hearth::models::sana
