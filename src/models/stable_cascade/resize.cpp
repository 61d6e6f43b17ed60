#include "models/stable_cascade/resize.h"

#include <algorithm>
#include <array>
#include <vector>

#include "ops/select.h"
#include "ops/shape_ops.h"

namespace hearth::models::stable_cascade {
namespace {

// The two neighbors of a position, and their shares.
struct Between {
  std::array<int64_t, 2> at;
  std::array<float, 2> share;
};

std::vector<Between> places(int64_t from, int64_t to) {
  const float step = to > 1 ? float(from - 1) / float(to - 1) : 0;
  std::vector<Between> all;
  for (int64_t i = 0; i < to; ++i) {
    const float place = step * float(i);
    const int64_t low = std::min(int64_t(place), from - 1), high = std::min(low + 1, from - 1);
    const float share = place - float(low);
    all.push_back({{low, high}, {1 - share, share}});
  }
  return all;
}

}  // namespace

Tensor resize_bilinear(const Tensor& x, int64_t height, int64_t width) {
  const auto [B, H, W, C] = x.dims<4>();
  if (H == height && W == width) return x;
  Backend& backend = x.backend();
  const int64_t count = B * height * width;
  const std::vector<Between> of_rows = places(H, height), of_columns = places(W, width);
  const Tensor pixels = ops::contiguous(x).view({B * H * W, C});
  std::vector<int32_t> own(static_cast<size_t>(count));
  for (size_t i = 0; i < own.size(); ++i) own[i] = int32_t(i);
  const Tensor rows = Tensor::from(backend, {count}, own);
  Tensor y = Tensor::zeros(backend, {count, C});
  for (size_t corner = 0; corner < 4; ++corner) {
    std::vector<int32_t> from;
    std::vector<float> factors;
    for (int64_t b = 0; b < B; ++b)
      for (const Between& row : of_rows)
        for (const Between& column : of_columns) {
          from.push_back(int32_t((b * H + row.at[corner / 2]) * W + column.at[corner % 2]));
          factors.push_back(row.share[corner / 2] * column.share[corner % 2]);
        }
    const Tensor neighbors = ops::gather(pixels, Tensor::from(backend, {count}, from));
    y = ops::scatter_add(y, neighbors, rows, Tensor::from(backend, {count}, factors));
  }
  return ops::cast(y.view({B, height, width, C}), x.dtype());
}

}  // namespace hearth::models::stable_cascade
