// From a network's numbers to the pixels of a picture, as diffusers' VaeImageProcessor does it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor.h"

namespace hearth {

// A picture as it stands in a file: 8-bit sRGB, rows from the top, red green blue.
struct Pixels {
  int64_t width = 0, height = 0;
  std::vector<uint8_t> rgb;  // [height, width, 3]

  friend bool operator==(const Pixels&, const Pixels&) = default;
};

// What black and white are in a tensor of pixels.
enum class PixelRange {
  zero_to_one,       // a picture
  minus_one_to_one,  // what an autoencoder takes and gives
};

// x [H, W, 3], any floating type → 8 bits: to [0, 1], clamp, times 255, to the nearest integer (halves to the even one).
// ShapeError for another shape; NonFiniteError that counts NaN and infinite values and names the first: such a picture is never
// written, because it would show black where the numbers were lost.
Pixels to_pixels(const Tensor& x, PixelRange range);

}  // namespace hearth
