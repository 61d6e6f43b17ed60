#include "api/image/array.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "ops/shape_ops.h"

namespace hearth::api {

Array to_array(const Tensor& x) {
  const Tensor planes = ops::to_channels_first(x);
  return {.shape = {planes.shape().begin(), planes.shape().end()}, .values = planes.to_vector()};
}

Tensor to_tensor(const Array& array, Backend& device, const char* what) {
  if (array.shape.size() != 4) fail<UsageError>("{}: {} axes, expected [batch, channels, height, width]", what, array.shape.size());
  double count = 1;
  for (const int64_t side : array.shape) {
    if (side < 1) fail<UsageError>("{}: an axis of {}, expected at least 1", what, side);
    count *= double(side);
  }
  const Shape shape{array.shape[0], array.shape[1], array.shape[2], array.shape[3]};
  if (count != double(array.values.size()))
    fail<UsageError>("{}: {} values, expected as many as the shape {} has", what, array.values.size(), shape);
  const auto bad = std::ranges::count_if(array.values, [](float v) { return !std::isfinite(v); });
  if (bad > 0) fail<NonFiniteError>("{}: {} of {} values are NaN or infinite", what, bad, array.values.size());
  return Tensor::from(device, shape, array.values);
}

}  // namespace hearth::api
