#include "media/pixels.h"

#include <algorithm>
#include <cmath>

namespace hearth {

Pixels to_pixels(const Tensor& x, PixelRange range) {
  const auto [H, W, C] = x.dims<3>();
  if (C != 3 || H < 1 || W < 1) fail<ShapeError>("to_pixels: x {}, needed [H, W, 3]", x.shape());
  const std::vector<float> values = x.to_vector();

  const auto finite = [](float v) { return std::isfinite(v); };
  const auto first = std::find_if_not(values.begin(), values.end(), finite);
  if (first != values.end()) {
    const int64_t at = first - values.begin(), count = std::count_if(first, values.end(), [&](float v) { return !finite(v); });
    fail<NonFiniteError>("to_pixels: {} of {} values are not finite, the first at row {}, column {}, channel {}", count, values.size(),
                         at / (W * C), at / C % W, at % C);
  }

  Pixels image{.width = W, .height = H, .rgb = std::vector<uint8_t>(values.size())};
  std::transform(values.begin(), values.end(), image.rgb.begin(), [range](float v) {
    const float unit = range == PixelRange::zero_to_one ? v : v * 0.5f + 0.5f;
    return uint8_t(std::nearbyintf(std::clamp(unit, 0.0f, 1.0f) * 255.0f));
  });
  return image;
}

}  // namespace hearth
