#include "models/hunyuan_dit/sizes.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace hearth::models::hunyuan_dit {
namespace {

struct Size {
  int64_t width, height;
};
constexpr Size squares[] = {{1024, 1024}, {1280, 1280}};
constexpr Size wide[] = {{1024, 768}, {1152, 864}, {1280, 960}};
constexpr Size tall[] = {{768, 1024}, {864, 1152}, {960, 1280}};
constexpr Size widest[] = {{1280, 768}};
constexpr Size tallest[] = {{768, 1280}};

struct Shapes {
  double ratio;  // width / height for which they are chosen
  std::span<const Size> sizes;
};
constexpr Shapes standard_shapes[] = {{1, squares}, {4.0 / 3, wide}, {3.0 / 4, tall}, {16.0 / 9, widest}, {9.0 / 16, tallest}};

}  // namespace

std::array<int64_t, 2> size_of_run(int64_t height, int64_t width) {
  height = std::max<int64_t>(height / 16, 1) * 16, width = std::max<int64_t>(width / 16, 1) * 16;
  for (const Shapes& shapes : standard_shapes)
    for (const Size& s : shapes.sizes)
      if (s.width == width && s.height == height) return {height, width};
  const double ratio = double(width) / double(height);
  const Shapes& shapes = *std::ranges::min_element(standard_shapes, {}, [&](const Shapes& s) { return std::abs(s.ratio - ratio); });
  const Size& size =
      *std::ranges::min_element(shapes.sizes, {}, [&](const Size& s) { return std::abs(s.width * s.height - width * height); });
  return {size.height, size.width};
}

}  // namespace hearth::models::hunyuan_dit
