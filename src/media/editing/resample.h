// Resizes images, bit-identical to Image.resize of Pillow 13, which diffusers, ComfyUI and A1111 apply to input images. Older versions of
// Pillow always filter along rows first, which changes some values by one if the height shrinks more than the width. Pillow convolves
// with a filter that is scaled to the source pixels that a new pixel covers (so that shrinking averages), along rows and along columns, and
// rounds to 8 bits after each; the weights are rounded to 22 bits.
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
  bicubic,  // Keys' filter with a = −1/2
  lanczos,  // three lobes: diffusers' choice
};

// The image in width × height. ShapeError if a side is below 1, or the number of pixels does not match the image's size.
Pixels resize(const Pixels& image, int64_t width, int64_t height, Filter filter);
PixelMask resize(const PixelMask& mask, int64_t width, int64_t height, Filter filter);

// The same for f32 values (Pillow's mode F): x [rows, columns] → [height, width]; sums in f64, rounded to f32 after each direction.
std::vector<float> resize(std::span<const float> x, int64_t columns, int64_t rows, int64_t width, int64_t height, Filter filter);

// The same as torch's interpolate with mode "bicubic" (without align_corners and antialias): Keys' filter with a = −3/4 over four values in
// each direction, along rows first; edge values are repeated beyond the edge. Sums in f64, rounded to f32 after each direction.
std::vector<float> interpolate_bicubic(std::span<const float> x, int64_t columns, int64_t rows, int64_t width, int64_t height);

// The same with mode "bilinear", of values with channels: x [rows, columns, channels] → [height, width, channels].
std::vector<float> interpolate_bilinear(std::span<const float> x, int64_t columns, int64_t rows, int64_t channels, int64_t width,
                                        int64_t height);

}  // namespace hearth
