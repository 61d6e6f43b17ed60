// Fits an image of any aspect ratio to a given size with Lanczos, bit-identical to A1111's resize modes and diffusers' VaeImageProcessor.
#pragma once

#include <string_view>

#include "media/pixels.h"

namespace hearth {

enum class Fit {
  stretch,  // "just resize": scales both sides independently
  crop,     // "crop and resize": fills the size and crops the excess evenly on both sides
  fill,     // "resize and fill": keeps the whole image and repeats its edges in the remaining space
};

Pixels fitted(const Pixels& image, int64_t width, int64_t height, Fit fit);
PixelMask fitted(const PixelMask& mask, int64_t width, int64_t height, Fit fit);

}  // namespace hearth
