// How a camera was held (EXIF 2.32, tag Orientation), and an image turned upright. As Pillow's ImageOps.exif_transpose.
#pragma once

#include "media/pixels.h"

namespace hearth {

// 1 as it should be; 2 mirrored left to right; 3 turned by 180°; 4 mirrored top to bottom; 5 mirrored along the main diagonal;
// 6 to be turned right by 90°; 7 mirrored along the other diagonal; 8 to be turned left by 90°. Other numbers say nothing: as 1.
// 5 to 8 exchange width and height.
Pixels upright(Pixels image, int64_t orientation);
DeepPixels upright(DeepPixels image, int64_t orientation);
PixelMask upright(PixelMask mask, int64_t orientation);

}  // namespace hearth
