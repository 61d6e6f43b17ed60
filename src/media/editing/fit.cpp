#include "media/editing/fit.h"

#include <algorithm>

#include "media/editing/resample.h"

namespace hearth {
namespace {

std::vector<uint8_t>& levels(Pixels& image) { return image.rgb; }
std::vector<uint8_t>& levels(PixelMask& mask) { return mask.values; }

// The fill of an edge: both programs let Pillow resize a box of zero height there, so that the bicubic filter covers two rows, the nearer
// with the weight 9/8, the other with −1/8; one row if the image has only one.
uint8_t beyond(uint8_t edge, uint8_t next) { return uint8_t(std::clamp((9 * int(edge) - int(next) + 4) >> 3, 0, 255)); }

template <class Raster> Raster on_canvas(Raster small, int64_t C, int64_t width, int64_t height, Fit fit) {
  const int64_t w = small.width, h = small.height, left = width / 2 - w / 2, top = height / 2 - h / 2;
  Raster canvas = small;
  canvas.width = width, canvas.height = height;
  levels(canvas).assign(size_t(width * height * C), 0);
  const auto at = [C](Raster& p, int64_t x, int64_t y) { return &levels(p)[size_t((y * p.width + x) * C)]; };
  for (int64_t y = std::max<int64_t>(0, -top); y < h && top + y < height; ++y)
    for (int64_t x = std::max<int64_t>(0, -left); x < w && left + x < width; ++x)
      std::copy_n(at(small, x, y), C, at(canvas, left + x, top + y));
  if (fit == Fit::crop) return canvas;

  // Both sides get as many rows or columns as there are before the image. If the total is odd, the last one stays black or is missing, as
  // in those programs.
  const auto edge = [&](int64_t x, int64_t y, int64_t from_x, int64_t from_y, int64_t next_x, int64_t next_y) {
    for (int64_t c = 0; c < C; ++c) at(canvas, x, y)[c] = beyond(at(small, from_x, from_y)[c], at(small, next_x, next_y)[c]);
  };
  for (int64_t y = 0; y < top; ++y)
    for (int64_t x = 0; x < w; ++x) {
      edge(x, y, x, 0, x, std::min<int64_t>(1, h - 1));
      if (top + h + y < height) edge(x, top + h + y, x, h - 1, x, std::max<int64_t>(h - 2, 0));
    }
  for (int64_t y = 0; y < h; ++y)
    for (int64_t x = 0; x < left; ++x) {
      edge(x, y, 0, y, std::min<int64_t>(1, w - 1), y);
      if (left + w + x < width) edge(left + w + x, y, w - 1, y, std::max<int64_t>(w - 2, 0), y);
    }
  return canvas;
}

template <class Raster> Raster fit_into(const Raster& image, int64_t C, int64_t width, int64_t height, Fit fit) {
  if (fit == Fit::stretch) return resize(image, width, height, Filter::lanczos);
  const double wanted = double(width) / double(height), own = double(image.width) / double(image.height);
  const bool whole_width = fit == Fit::crop ? wanted > own : wanted < own;
  const bool whole_height = fit == Fit::crop ? wanted <= own : wanted >= own;
  // A side that would be scaled to zero becomes one pixel; Pillow would refuse it.
  const int64_t w = whole_width ? width : std::max<int64_t>(1, image.width * height / image.height);
  const int64_t h = whole_height ? height : std::max<int64_t>(1, image.height * width / image.width);
  return on_canvas(resize(image, w, h, Filter::lanczos), C, width, height, fit);
}

}  // namespace

Pixels fitted(const Pixels& image, int64_t width, int64_t height, Fit fit) { return fit_into(image, 3, width, height, fit); }
PixelMask fitted(const PixelMask& mask, int64_t width, int64_t height, Fit fit) { return fit_into(mask, 1, width, height, fit); }

}  // namespace hearth
