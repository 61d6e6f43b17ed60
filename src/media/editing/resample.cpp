#include "media/editing/resample.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace hearth {
namespace {

constexpr int weight_bits = 32 - 8 - 2;  // as in Pillow: a sum of 8-bit values, including overshoot, fits in 32 bits

struct Kernel {
  double support;
  double (*at)(double);
};

double sinc(double x) {
  if (x == 0) return 1;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

Kernel kernel_of(Filter filter) {
  switch (filter) {
    case Filter::box: return {0.5, [](double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }};
    case Filter::bilinear: return {1, [](double x) { return std::max(0.0, 1 - std::abs(x)); }};
    case Filter::bicubic:
      return {2, [](double x) {
                constexpr double a = -0.5;
                x = std::abs(x);
                if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
                return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0.0;
              }};
    default: return {3, [](double x) { return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0.0; }};
  }
}

// The source pixels of one new pixel, from `begin` on, with their weights.
struct Window {
  int64_t begin;
  std::vector<double> weights;
};

std::vector<Window> windows(int64_t from, int64_t to, Filter filter) {
  const Kernel kernel = kernel_of(filter);
  const double scale = double(from) / double(to), stretch = std::max(scale, 1.0), support = kernel.support * stretch;
  const double shrink = 1 / stretch;
  std::vector<Window> all;
  all.reserve(size_t(to));
  for (int64_t i = 0; i < to; ++i) {
    const double center = (double(i) + 0.5) * scale;
    const int64_t begin = std::max(int64_t(std::trunc(center - support + 0.5)), int64_t(0));
    const int64_t end = std::min(int64_t(std::trunc(center + support + 0.5)), from);
    Window window{.begin = begin, .weights = {}};
    double sum = 0;
    for (int64_t k = begin; k < end; ++k) {
      window.weights.push_back(kernel.at((double(k) - center + 0.5) * shrink));
      sum += window.weights.back();
    }
    for (double& weight : window.weights)
      if (sum != 0) weight /= sum;
    all.push_back(std::move(window));
  }
  return all;
}

// How the values of a window are combined.
struct Levels {  // 8 bits
  using Value = uint8_t;
  using Weight = int32_t;
  static int32_t weight(double w) { return int32_t((w < 0 ? -0.5 : 0.5) + w * (1 << weight_bits)); }
  static int32_t zero() { return 1 << (weight_bits - 1); }
  static uint8_t rounded(int32_t sum) { return uint8_t(std::clamp(sum >> weight_bits, 0, 255)); }
};
struct Floats {
  using Value = float;
  using Weight = double;
  static double weight(double w) { return w; }
  static double zero() { return 0; }
  static float rounded(double sum) { return float(sum); }
};

// [outer, from, inner] → [outer, to, inner].
template <class Kind>
std::vector<typename Kind::Value> along(const std::vector<typename Kind::Value>& x, int64_t outer, int64_t from, int64_t inner, int64_t to,
                                        Filter filter) {
  if (from == to) return x;
  std::vector<typename Kind::Value> y(size_t(outer * to * inner));
  std::vector<typename Kind::Weight> weights, sums(static_cast<size_t>(inner));
  const std::vector<Window> all = windows(from, to, filter);
  for (int64_t i = 0; i < to; ++i) {
    weights.clear();
    for (const double w : all[size_t(i)].weights) weights.push_back(Kind::weight(w));
    for (int64_t o = 0; o < outer; ++o) {
      std::fill(sums.begin(), sums.end(), Kind::zero());
      const auto* in = x.data() + (o * from + all[size_t(i)].begin) * inner;
      for (const auto weight : weights) {
        for (int64_t n = 0; n < inner; ++n) sums[size_t(n)] += in[n] * weight;
        in += inner;
      }
      std::transform(sums.begin(), sums.end(), y.begin() + (o * to + i) * inner, Kind::rounded);
    }
  }
  return y;
}

// Pillow accumulates its position in the source step by step, so the last bits depend on the previous steps.
std::vector<int64_t> nearest_places(int64_t from, int64_t to) {
  const double step = double(from) / double(to);
  std::vector<int64_t> places;
  places.reserve(size_t(to));
  double at = step * 0.5;
  for (int64_t i = 0; i < to; ++i, at += step) places.push_back(std::min(int64_t(at), from - 1));
  return places;
}

// The rule of Pillow since version 13: columns first if the height shrinks by more than twice the factor of the width.
bool columns_first(int64_t W, int64_t H, int64_t width, int64_t height) { return height < H && H - height > 2 * (W - width); }

void check_sizes(size_t values, int64_t columns, int64_t rows, int64_t channels, int64_t width, int64_t height) {
  if (width < 1 || height < 1) fail<ShapeError>("resize: the size is {} × {}, expected sides of at least 1", width, height);
  if (columns < 1 || rows < 1 || int64_t(values) != columns * rows * channels)
    fail<ShapeError>("resize: {} values for {} × {}, expected {} per pixel", values, columns, rows, channels);
}

// x [H, W, C] → [height, width, C].
template <class Kind>
std::vector<typename Kind::Value> resized(std::vector<typename Kind::Value> x, int64_t W, int64_t H, int64_t C, int64_t width,
                                          int64_t height, Filter filter) {
  check_sizes(x.size(), W, H, C, width, height);
  if (filter != Filter::nearest) {
    if (columns_first(W, H, width, height)) return along<Kind>(along<Kind>(x, 1, H, W * C, height, filter), height, W, C, width, filter);
    return along<Kind>(along<Kind>(x, H, W, C, width, filter), 1, H, width * C, height, filter);
  }
  if (width == W && height == H) return x;
  const std::vector<int64_t> columns = nearest_places(W, width), rows = nearest_places(H, height);
  std::vector<typename Kind::Value> y;
  y.reserve(size_t(width * height * C));
  for (const int64_t row : rows)
    for (const int64_t column : columns) y.insert(y.end(), x.begin() + (row * W + column) * C, x.begin() + (row * W + column + 1) * C);
  return y;
}

// Weights of the values around a place, the first of which is at ⌊place⌋ + first.
struct Around {
  int64_t first;
  std::vector<double> weights;
};
Around bicubic_around(double t) {
  constexpr double a = -0.75;
  const auto near = [](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };       // |d| ≤ 1
  const auto far = [](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };  // 1 < |d| < 2
  return {-1, {far(t + 1), near(t), near(1 - t), far(2 - t)}};
}
Around bilinear_around(double t) { return {0, {1 - t, t}}; }

// [outer, from, inner] → [outer, to, inner]
std::vector<float> interpolated_along(std::span<const float> x, int64_t outer, int64_t from, int64_t inner, int64_t to,
                                      Around (*around)(double t)) {
  std::vector<float> y(size_t(outer * to * inner));
  for (int64_t i = 0; i < to; ++i) {
    const double at = (double(i) + 0.5) * double(from) / double(to) - 0.5, base = std::floor(at);
    const Around values = around(at - base);
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t n = 0; n < inner; ++n) {
        double sum = 0;
        for (size_t k = 0; k < values.weights.size(); ++k) {
          const int64_t row = std::clamp<int64_t>(int64_t(base) + values.first + int64_t(k), 0, from - 1);
          sum += values.weights[k] * double(x[size_t((o * from + row) * inner + n)]);
        }
        y[size_t((o * to + i) * inner + n)] = float(sum);
      }
  }
  return y;
}

}  // namespace

Pixels resize(const Pixels& image, int64_t width, int64_t height, Filter filter) {
  return {.width = width, .height = height, .rgb = resized<Levels>(image.rgb, image.width, image.height, 3, width, height, filter)};
}

PixelMask resize(const PixelMask& mask, int64_t width, int64_t height, Filter filter) {
  return {.width = width, .height = height, .values = resized<Levels>(mask.values, mask.width, mask.height, 1, width, height, filter)};
}

std::vector<float> resize(std::span<const float> x, int64_t columns, int64_t rows, int64_t width, int64_t height, Filter filter) {
  return resized<Floats>({x.begin(), x.end()}, columns, rows, 1, width, height, filter);
}

std::vector<float> interpolate_bicubic(std::span<const float> x, int64_t columns, int64_t rows, int64_t width, int64_t height) {
  check_sizes(x.size(), columns, rows, 1, width, height);
  return interpolated_along(interpolated_along(x, rows, columns, 1, width, bicubic_around), 1, rows, width, height, bicubic_around);
}

std::vector<float> interpolate_bilinear(std::span<const float> x, int64_t columns, int64_t rows, int64_t channels, int64_t width,
                                        int64_t height) {
  check_sizes(x.size(), columns, rows, channels, width, height);
  return interpolated_along(interpolated_along(x, rows, columns, channels, width, bilinear_around), 1, rows, width * channels, height,
                            bilinear_around);
}

}  // namespace hearth
