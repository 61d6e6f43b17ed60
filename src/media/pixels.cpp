#include "media/pixels.h"

#include <algorithm>
#include <cmath>

namespace hearth {
namespace {

template <class Raster> Raster quantize(const Tensor& x, PixelRange range, float white, const char* name) {
  const auto [H, W, C] = x.dims<3>();
  if (C != 3 || H < 1 || W < 1) fail<ShapeError>("{}: x {}, expected [H, W, 3]", name, x.shape());
  const std::vector<float> values = x.to_vector();

  const auto finite = [](float v) { return std::isfinite(v); };
  const auto first = std::find_if_not(values.begin(), values.end(), finite);
  if (first != values.end()) {
    const int64_t at = first - values.begin(), count = std::count_if(first, values.end(), [&](float v) { return !finite(v); });
    fail<NonFiniteError>("{}: {} of {} values are not finite, the first at row {}, column {}, channel {}", name, count, values.size(),
                         at / (W * C), at / C % W, at % C);
  }

  Raster image{.width = W, .height = H, .rgb = {}};
  using Level = typename decltype(image.rgb)::value_type;
  image.rgb.resize(values.size());
  std::transform(values.begin(), values.end(), image.rgb.begin(), [range, white](float v) {
    const float unit = range == PixelRange::zero_to_one ? v : v * 0.5f + 0.5f;
    return Level(std::nearbyintf(std::clamp(unit, 0.0f, 1.0f) * white));
  });
  return image;
}

std::vector<float> units(const std::vector<uint8_t>& levels, PixelRange range) {
  std::vector<float> x(levels.size());
  std::transform(levels.begin(), levels.end(), x.begin(), [range](uint8_t level) {
    const float unit = float(level) / 255.0f;
    return range == PixelRange::zero_to_one ? unit : 2.0f * unit - 1.0f;
  });
  return x;
}

}  // namespace

Pixels to_pixels(const Tensor& x, PixelRange range) { return quantize<Pixels>(x, range, 255.0f, "to_pixels"); }
DeepPixels to_deep_pixels(const Tensor& x, PixelRange range) { return quantize<DeepPixels>(x, range, 65535.0f, "to_deep_pixels"); }

std::vector<float> to_floats(const Pixels& image, PixelRange range) { return units(image.rgb, range); }
std::vector<float> to_floats(const PixelMask& mask, PixelRange range) { return units(mask.values, range); }

}  // namespace hearth
