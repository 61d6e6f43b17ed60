// Control images (hearth/control.h) that small filters make of any image.
#pragma once

#include <string>
#include <vector>

#include "hearth/image.h"

namespace hearth {

// canny:LOW:HIGH, threshold:LEVEL, blur:SIGMA, tile:FACTOR, invert, shuffle:SEED, lineart; without a value, its default. Canny's edges are
// bit-identical to OpenCV's. Empty: the image itself. UsageError for anything else.
Image preprocess(const Image& image, const std::string& how);

// The names of these filters.
std::vector<std::string> list_preprocessors();

}  // namespace hearth
