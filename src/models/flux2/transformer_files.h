#pragma once

#include "weights/layout/image_files.h"

namespace hearth::models::flux2 {

extern const NetworkFiles transformer_files;
std::vector<Signature> transformer_signatures();

}  // namespace hearth::models::flux2
