// Fills the masked part of an image before inpainting, and pastes the original back over the unmasked part of the result. Bit-identical to
// Pillow's integer arithmetic, in the steps of A1111 (masking.fill, apply_overlay) and diffusers (VaeImageProcessor.apply_overlay).
#pragma once

#include "media/editing/region.h"
#include "media/pixels.h"

namespace hearth {

// Exactly `generated` where the mask is 255, exactly `original` where it is 0, and interpolated in between. ShapeError unless all sizes are
// equal.
Pixels pasted(const Pixels& generated, const Pixels& original, const PixelMask& mask);
// The same if `generated` is only that region of the image, in any size: it is resized first (Fit::crop).
Pixels pasted(const Pixels& generated, const Pixels& original, const PixelMask& mask, const Region& region);

// The image with its masked part filled with blurred colors from around it, in finer detail near the border.
Pixels filled_from_around(const Pixels& image, const PixelMask& mask);

}  // namespace hearth
