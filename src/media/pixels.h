// Images in memory, and between a network's numbers and pixels as diffusers' VaeImageProcessor goes.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor.h"

namespace hearth {

// An image as it stands in a file: 8-bit sRGB, rows from the top, red green blue.
struct Pixels {
  int64_t width = 0, height = 0;
  std::vector<uint8_t> rgb;  // [height, width, 3]

  friend bool operator==(const Pixels&, const Pixels&) = default;
};

// The same with 16 bits for each color.
struct DeepPixels {
  int64_t width = 0, height = 0;
  std::vector<uint16_t> rgb;  // [height, width, 3]

  friend bool operator==(const DeepPixels&, const DeepPixels&) = default;
};

// One value per pixel: where to paint (255) and where not (0), or how opaque an image is (255: wholly).
struct PixelMask {
  int64_t width = 0, height = 0;
  std::vector<uint8_t> values;  // [height, width]

  friend bool operator==(const PixelMask&, const PixelMask&) = default;
};

// What readers of images accept. Everything is checked before memory is taken for it.
struct ImageLimits {
  int64_t file_bytes = int64_t(1) << 30;
  int64_t pixels = int64_t(1) << 28;      // 16384 × 16384
  int64_t text_bytes = int64_t(1) << 26;  // one text of a PNG, unpacked
};

// What black and white are in a tensor of pixels.
enum class PixelRange {
  zero_to_one,       // an image
  minus_one_to_one,  // what an autoencoder takes and gives
};

// x [H, W, 3], any floating type → 8 bits: to [0, 1], clamp, times 255, to the nearest integer (halves to the even one).
// ShapeError for another shape; NonFiniteError that counts NaN and infinite values and names the first: such an image is never
// written, because it would show black where the numbers were lost.
Pixels to_pixels(const Tensor& x, PixelRange range);
// The same times 65535.
DeepPixels to_deep_pixels(const Tensor& x, PixelRange range);

// The way back: each value / 255, and × 2 − 1 for minus_one_to_one, in f32. [height, width, 3] or [height, width].
std::vector<float> to_floats(const Pixels& image, PixelRange range);
std::vector<float> to_floats(const PixelMask& mask, PixelRange range);

}  // namespace hearth
