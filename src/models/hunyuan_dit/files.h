#pragma once

#include "weights/layout/image_files.h"

namespace hearth::models::hunyuan_dit {

extern const ImageFiles files;

}  // namespace hearth::models::hunyuan_dit
