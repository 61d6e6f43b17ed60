// Painting into a part of an image: what the masked part holds before, and how the result is laid under what was not masked. Pillow's
// integer arithmetic bit for bit, in the steps of A1111 (masking.fill, apply_overlay) and diffusers (VaeImageProcessor.apply_overlay).
#pragma once

#include "media/editing/region.h"
#include "media/pixels.h"

namespace hearth {

// `painted` where the mask is 255, `original` where it is 0, to the bit, and between them in between. All of one size, else ShapeError.
Pixels pasted(const Pixels& painted, const Pixels& original, const PixelMask& mask);
// The same where `painted` is that region of the original, in any size: it is resized first (Fit::crop).
Pixels pasted(const Pixels& painted, const Pixels& original, const PixelMask& mask, const Region& region);

// The masked part filled with the colors around it, blurred, the finer the nearer.
Pixels filled_from_around(const Pixels& image, const PixelMask& mask);

}  // namespace hearth
