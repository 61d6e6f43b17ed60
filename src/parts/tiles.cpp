#include "parts/tiles.h"

#include <algorithm>

#include "core/on_host.h"
#include "ops/shape_ops.h"

namespace hearth::parts {
namespace {

// Crossfades linearly from the last `extent` rows (axis 1) or columns (axis 2) of a to the first of b; both [B, H, W, C] f32 on a
// host. The factors are rounded as in the reference.
void blend(const Tensor& a, Tensor& b, int axis, int64_t extent) {
  extent = std::min({extent, a.size(axis), b.size(axis)});
  const auto [B, H, W, C] = b.dims<4>();
  for (int64_t i = 0; i < extent; ++i) {
    const float from = float(1 - double(i) / double(extent)), to = float(double(i) / double(extent));
    const Tensor last = a.slice(axis, a.size(axis) - extent + i, a.size(axis) - extent + i + 1), first = b.slice(axis, i, i + 1);
    for (int64_t image = 0; image < B; ++image)
      for (int64_t p = 0; p < (axis == 1 ? W : H); ++p) {
        const float* x = last.data<float>() + image * last.stride(0) + p * last.stride(3 - axis);
        float* y = first.data<float>() + image * first.stride(0) + p * first.stride(3 - axis);
        for (int64_t c = 0; c < C; ++c) y[c] = x[c] * from + y[c] * to;
      }
  }
}

}  // namespace

Tensor in_tiles(const Tensor& x, const Tiles& t, const std::function<Tensor(const Tensor&)>& network) {
  const int64_t H = x.size(1), W = x.size(2);
  Backend& host = x.backend().host();
  std::vector<Tensor> above, rows;
  for (int64_t i = 0; H - i >= t.least; i += t.step) {
    std::vector<Tensor> tiles, parts;
    for (int64_t j = 0; W - j >= t.least; j += t.step) {
      Tensor y = network(ops::contiguous(x.slice(1, i, std::min(H, i + t.side)).slice(2, j, std::min(W, j + t.side)))).to(host);
      unless_dry(host, [&] {
        if (!above.empty()) blend(above[tiles.size()], y, 1, t.extent);
        if (!tiles.empty()) blend(tiles.back(), y, 2, t.extent);
      });
      parts.push_back(y.slice(1, 0, std::min(t.kept, y.size(1))).slice(2, 0, std::min(t.kept, y.size(2))));
      tiles.push_back(std::move(y));
    }
    rows.push_back(ops::concat(parts, 2));
    above = std::move(tiles);
  }
  return ops::concat(rows, 1);
}

}  // namespace hearth::parts
