// Applies the orientation of an image (EXIF 2.32, tag Orientation), like Pillow's ImageOps.exif_transpose.
#pragma once

#include "media/pixels.h"

namespace hearth {

// 1: unchanged; 2: mirrored left to right; 3: rotated by 180°; 4: mirrored top to bottom; 5: mirrored along the main diagonal; 6: must be
// rotated right by 90°; 7: mirrored along the other diagonal; 8: must be rotated left by 90°. All other values are treated as 1. 5 to 8
// exchange width and height.
Pixels upright(Pixels image, int64_t orientation);
DeepPixels upright(DeepPixels image, int64_t orientation);
PixelMask upright(PixelMask mask, int64_t orientation);

}  // namespace hearth
