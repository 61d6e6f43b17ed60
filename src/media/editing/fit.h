// An image of any shape in a given size, as A1111's resize modes and diffusers' VaeImageProcessor have it, bit for bit; with Lanczos.
#pragma once

#include <string_view>

#include "media/pixels.h"

namespace hearth {

enum class Fit {
  stretch,  // "just resize": both sides as asked for
  crop,     // "crop and resize": fills the size, what is too much falls away evenly on both sides
  fill,     // "resize and fill": all of it is there, its edges go on where there is room
};

Pixels fitted(const Pixels& image, int64_t width, int64_t height, Fit fit);
PixelMask fitted(const PixelMask& mask, int64_t width, int64_t height, Fit fit);

}  // namespace hearth
