// Images in memory, and the conversion between tensors and pixels, as in diffusers' VaeImageProcessor.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor.h"

namespace hearth {

// An image as in a file: 8-bit sRGB, rows from the top, red green blue.
struct Pixels {
  int64_t width = 0, height = 0;
  std::vector<uint8_t> rgb;  // [height, width, 3]

  friend bool operator==(const Pixels&, const Pixels&) = default;
};

// The same with 16 bits per channel.
struct DeepPixels {
  int64_t width = 0, height = 0;
  std::vector<uint16_t> rgb;  // [height, width, 3]

  friend bool operator==(const DeepPixels&, const DeepPixels&) = default;
};

// One value per pixel: a mask, 255 where to regenerate and 0 where to keep; or the opacity of an image, 255 if opaque.
struct PixelMask {
  int64_t width = 0, height = 0;
  std::vector<uint8_t> values;  // [height, width]

  friend bool operator==(const PixelMask&, const PixelMask&) = default;
};

// What image readers accept. Each limit is checked before memory is allocated.
struct ImageLimits {
  int64_t file_bytes = int64_t(1) << 30;
  int64_t pixels = int64_t(1) << 28;      // 16384 × 16384
  int64_t text_bytes = int64_t(1) << 26;  // one text of a PNG, decompressed
};

// The values of black and white in a tensor of pixels.
enum class PixelRange {
  zero_to_one,       // an image
  minus_one_to_one,  // input and output of an autoencoder
};

// x [H, W, 3], any floating-point dtype → 8 bits: map to [0, 1], clamp, multiply by 255, round to nearest even. ShapeError for another
// shape; NonFiniteError that counts NaN and infinite values and names the first: such an image is never written, because it would be black
// where the values were lost.
Pixels to_pixels(const Tensor& x, PixelRange range);
// The same times 65535.
DeepPixels to_deep_pixels(const Tensor& x, PixelRange range);

// The inverse: each value / 255, and × 2 − 1 for minus_one_to_one, in f32. [height, width, 3] or [height, width].
std::vector<float> to_floats(const Pixels& image, PixelRange range);
std::vector<float> to_floats(const PixelMask& mask, PixelRange range);

}  // namespace hearth
