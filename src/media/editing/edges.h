// Edges of images: Canny's, bit-identical to OpenCV.
#pragma once

#include "media/pixels.h"

namespace hearth {

// cv2.Canny(image, low, high) with aperture 3 and the L1 norm (Canny 1986), on three channels: at each pixel the channel with the largest
// gradient counts, the first of equal ones. 255: an edge. UsageError unless 0 ≤ low ≤ high.
PixelMask canny(const Pixels& image, double low, double high);

}  // namespace hearth
