#include "media/metadata/orientation.h"

#include <algorithm>
#include <utility>

namespace hearth {
namespace {

template <class Level> std::vector<Level> turned(const std::vector<Level>& in, int64_t W, int64_t H, int64_t C, int64_t orientation) {
  const bool exchanged = orientation >= 5;
  const int64_t columns = exchanged ? H : W, rows = exchanged ? W : H;
  std::vector<Level> out(in.size());
  for (int64_t y = 0; y < rows; ++y)
    for (int64_t x = 0; x < columns; ++x) {
      int64_t from_x = exchanged ? y : x, from_y = exchanged ? x : y;
      if (orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8) from_x = W - 1 - from_x;
      if (orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7) from_y = H - 1 - from_y;
      std::copy_n(in.begin() + (from_y * W + from_x) * C, C, out.begin() + (y * columns + x) * C);
    }
  return out;
}

template <class Raster, class Levels> Raster turn(Raster image, Levels levels, int64_t C, int64_t orientation) {
  if (orientation < 2 || orientation > 8) return image;
  image.*levels = turned(image.*levels, image.width, image.height, C, orientation);
  if (orientation >= 5) std::swap(image.width, image.height);
  return image;
}

}  // namespace

Pixels upright(Pixels image, int64_t orientation) { return turn(std::move(image), &Pixels::rgb, 3, orientation); }
DeepPixels upright(DeepPixels image, int64_t orientation) { return turn(std::move(image), &DeepPixels::rgb, 3, orientation); }
PixelMask upright(PixelMask mask, int64_t orientation) { return turn(std::move(mask), &PixelMask::values, 1, orientation); }

}  // namespace hearth
