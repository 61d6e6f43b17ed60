#pragma once

#include "weights/layout/image_files.h"

namespace hearth::models::qwen_image {

extern const NetworkFiles transformer_files;
std::vector<Signature> transformer_signatures();

}  // namespace hearth::models::qwen_image
