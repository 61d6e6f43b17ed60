#include "models/image_prompt/mask.h"

#include <algorithm>
#include <cmath>

#include "media/editing/mask.h"
#include "media/editing/resample.h"

namespace hearth::models::image_prompt {

std::vector<float> prepared_mask(const Pixels& mask, int64_t width, int64_t height) {
  const bool fits = mask.width == width && mask.height == height;
  std::vector<float> values;
  for (const uint8_t gray : luma(fits ? mask : resize(mask, width, height, Filter::lanczos)).values) values.push_back(gray >= 128 ? 1 : 0);
  return values;
}

std::vector<float> mask_at(const std::vector<float>& mask, int64_t width, int64_t height, int64_t positions) {
  const double ratio = double(width) / double(height);
  auto rows = std::max<int64_t>(1, int64_t(std::sqrt(double(positions) / ratio)));
  if (positions % rows != 0) ++rows;
  const int64_t columns = std::max<int64_t>(1, positions / rows);
  std::vector<float> values = interpolate_bicubic(mask, width, height, columns, rows);
  values.resize(size_t(positions), 0);
  return values;
}

}  // namespace hearth::models::image_prompt
