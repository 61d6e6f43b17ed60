#include "media/editing/region.h"

#include <algorithm>

#include "core/error.h"

namespace hearth {
namespace {

// Extends [begin, end) of one axis by `more`, half on each side, and moves it back into [0, size).
void lengthen(int64_t& begin, int64_t& end, int64_t more, int64_t size) {
  begin -= more / 2;
  end += more - more / 2;
  if (end >= size) begin -= end - size, end = size;
  if (begin < 0) end -= begin, begin = 0;
  end = std::min(end, size);
}

std::vector<uint8_t> cut(const std::vector<uint8_t>& x, int64_t W, int64_t H, int64_t C, const Region& r) {
  if (r.left < 0 || r.top < 0 || r.left >= r.right || r.top >= r.bottom || r.right > W || r.bottom > H)
    fail<ShapeError>("cropped: from {}, {} to {}, {} of an image of {} × {}", r.left, r.top, r.right, r.bottom, W, H);
  std::vector<uint8_t> y;
  y.reserve(size_t(r.width() * r.height() * C));
  for (int64_t row = r.top; row < r.bottom; ++row)
    y.insert(y.end(), x.begin() + (row * W + r.left) * C, x.begin() + (row * W + r.right) * C);
  return y;
}

}  // namespace

std::optional<Region> masked_region(const PixelMask& mask) {
  Region r{.left = mask.width, .top = mask.height, .right = 0, .bottom = 0};
  for (int64_t y = 0; y < mask.height; ++y)
    for (int64_t x = 0; x < mask.width; ++x)
      if (mask.values[size_t(y * mask.width + x)] != 0)
        r = {std::min(r.left, x), std::min(r.top, y), std::max(r.right, x + 1), std::max(r.bottom, y + 1)};
  if (r.right == 0) return std::nullopt;
  return r;
}

Region grown(const Region& region, int64_t padding, const PixelMask& mask, int64_t width, int64_t height) {
  if (padding < 0) fail<UsageError>("only masked: a padding of {} pixels, expected at least 0", padding);
  const int64_t W = mask.width, H = mask.height;
  const int64_t most = std::min(padding, std::max(W, H));  // nothing overflows
  Region r{std::max<int64_t>(region.left - most, 0), std::max<int64_t>(region.top - most, 0), std::min(region.right + most, W),
           std::min(region.bottom + most, H)};
  const double own = double(r.width()) / double(r.height()), wanted = double(width) / double(height);
  if (own > wanted) lengthen(r.top, r.bottom, int64_t(double(r.width()) / wanted - double(r.height())), H);
  else lengthen(r.left, r.right, int64_t(double(r.height()) * wanted - double(r.width())), W);
  return r;
}

Pixels cropped(const Pixels& image, const Region& r) {
  return {.width = r.width(), .height = r.height(), .rgb = cut(image.rgb, image.width, image.height, 3, r)};
}

PixelMask cropped(const PixelMask& mask, const Region& r) {
  return {.width = r.width(), .height = r.height(), .values = cut(mask.values, mask.width, mask.height, 1, r)};
}

}  // namespace hearth
