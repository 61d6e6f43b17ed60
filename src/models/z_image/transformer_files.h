#pragma once

#include "weights/layout/image_files.h"

namespace hearth::models::z_image {

extern const NetworkFiles transformer_files;
std::vector<Signature> signatures();  // of the transformer and its control networks

}  // namespace hearth::models::z_image
