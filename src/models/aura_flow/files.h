#pragma once

#include "weights/layout/image_files.h"

namespace hearth::models::aura_flow {

extern const ImageFiles files;

}  // namespace hearth::models::aura_flow
