#include "media/editing/edges.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/error.h"

namespace hearth {
namespace {

struct Gradients {
  std::vector<int32_t> dx, dy, magnitude;  // [height + 2, width + 2], 0 at the border
};

// Sobel's derivatives; edge pixels are repeated beyond the edge.
Gradients gradients_of(const Pixels& image) {
  const int64_t W = image.width, H = image.height, step = W + 2;
  Gradients g;
  for (auto* values : {&g.dx, &g.dy, &g.magnitude}) values->assign(size_t(step * (H + 2)), 0);
  for (int64_t y = 0; y < H; ++y)
    for (int64_t x = 0; x < W; ++x)
      for (int64_t c = 0; c < 3; ++c) {
        const auto at = [&](int64_t i, int64_t k) {
          const int64_t row = std::clamp<int64_t>(y + i, 0, H - 1), column = std::clamp<int64_t>(x + k, 0, W - 1);
          return int32_t(image.rgb[size_t((row * W + column) * 3 + c)]);
        };
        const int32_t dx = at(-1, 1) - at(-1, -1) + 2 * (at(0, 1) - at(0, -1)) + at(1, 1) - at(1, -1);
        const int32_t dy = at(1, -1) - at(-1, -1) + 2 * (at(1, 0) - at(-1, 0)) + at(1, 1) - at(-1, 1);
        const int32_t magnitude = std::abs(dx) + std::abs(dy);
        const auto i = size_t((y + 1) * step + x + 1);
        if (c == 0 || magnitude > g.magnitude[i]) g.dx[i] = dx, g.dy[i] = dy, g.magnitude[i] = magnitude;
      }
  return g;
}

// Whether the pixel is the largest along its gradient. Directions in OpenCV's fixed point: tan 22.5° · 2¹⁵.
bool is_ridge(const Gradients& g, size_t i, size_t step) {
  constexpr int64_t tan_22 = 13573;
  const auto& m = g.magnitude;
  const int64_t x = std::abs(g.dx[i]), y = int64_t(std::abs(g.dy[i])) << 15, low = x * tan_22;
  if (y < low) return m[i] > m[i - 1] && m[i] >= m[i + 1];
  if (y > low + (x << 16)) return m[i] > m[i - step] && m[i] >= m[i + step];
  const bool falls = (g.dx[i] ^ g.dy[i]) < 0;
  return falls ? m[i] > m[i - step + 1] && m[i] > m[i + step - 1] : m[i] > m[i - step - 1] && m[i] > m[i + step + 1];
}

}  // namespace

PixelMask canny(const Pixels& image, double low_threshold, double high_threshold) {
  if (!(low_threshold >= 0 && low_threshold <= high_threshold && std::isfinite(high_threshold)))
    fail<UsageError>("canny: thresholds {} and {}, expected at least 0, the lower one first", low_threshold, high_threshold);
  const auto low = int64_t(std::floor(low_threshold)), high = int64_t(std::floor(high_threshold));
  const Gradients g = gradients_of(image);
  const int64_t W = image.width, H = image.height;
  const auto step = size_t(W + 2);
  enum : uint8_t { none, weak, edge };
  std::vector<uint8_t> marks(g.magnitude.size(), none);
  std::vector<size_t> left;  // edges whose neighbors are still to be looked at
  for (int64_t y = 1; y <= H; ++y)
    for (int64_t x = 1; x <= W; ++x) {
      const size_t i = size_t(y) * step + size_t(x);
      if (g.magnitude[i] <= low || !is_ridge(g, i, step)) continue;
      marks[i] = g.magnitude[i] > high ? edge : weak;
      if (marks[i] == edge) left.push_back(i);
    }
  while (!left.empty()) {
    const size_t i = left.back();
    left.pop_back();
    for (const size_t row : {i - step, i, i + step})
      for (const size_t k : {row - 1, row, row + 1})
        if (marks[k] == weak) marks[k] = edge, left.push_back(k);
  }
  PixelMask out{.width = W, .height = H, .values = {}};
  for (int64_t y = 1; y <= H; ++y)
    for (int64_t x = 1; x <= W; ++x) out.values.push_back(marks[size_t(y) * step + size_t(x)] == edge ? 255 : 0);
  return out;
}

}  // namespace hearth
