#pragma once

#include "weights/layout/image_files.h"

namespace hearth::models::stable_cascade {

extern const ImageFiles files;

}  // namespace hearth::models::stable_cascade
