#pragma once

#include "weights/layout/image_files.h"

namespace hearth::models::qwen_image {

extern const ImageFiles files;

}  // namespace hearth::models::qwen_image
