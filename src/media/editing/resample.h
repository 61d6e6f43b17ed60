// Images of another size, bit for bit as Pillow's Image.resize makes them: what diffusers, ComfyUI and A1111 do to images on the
// way in. As Pillow 13 does it; versions before go along rows first always, which is another level here and there where the height
// shrinks more than the width. Pillow's method is convolution with the filter stretched over the source pixels that a new pixel covers (so
// that shrinking averages), along rows and along columns, rounded to 8 bits after each; the weights are rounded to 22 bits.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "media/pixels.h"

namespace hearth {

enum class Filter {
  nearest,
  box,
  bilinear,
  bicubic,  // Keys' with a = −1/2
  lanczos,  // three lobes: diffusers' choice
};

// The image in width × height. ShapeError where a side is below 1, or the pixels do not fit the image's size.
Pixels resize(const Pixels& image, int64_t width, int64_t height, Filter filter);
PixelMask resize(const PixelMask& mask, int64_t width, int64_t height, Filter filter);

// The same for numbers of any size (Pillow's mode F): x [rows, columns] → [height, width]; sums in f64, rounded to f32 after each
// direction.
std::vector<float> resize(std::span<const float> x, int64_t columns, int64_t rows, int64_t width, int64_t height, Filter filter);

// The same as torch's interpolate with mode "bicubic" has it (align_corners off, not antialiased): Keys' filter with a = −3/4 over four
// values each way, the edge's beyond the edge; along rows first. Sums in f64, rounded to f32 after each direction.
std::vector<float> interpolate_bicubic(std::span<const float> x, int64_t columns, int64_t rows, int64_t width, int64_t height);

}  // namespace hearth
