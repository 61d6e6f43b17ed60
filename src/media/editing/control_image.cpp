#include "media/editing/control_image.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/philox.h"
#include "core/text/values.h"
#include "media/editing/edges.h"
#include "media/editing/mask.h"
#include "media/editing/resample.h"

namespace hearth {
namespace {

// The same function of each channel.
template <class F> Pixels by_channel(const Pixels& image, F f) {
  Pixels out;
  for (size_t c = 0; c < 3; ++c) {
    PixelMask channel{.width = image.width, .height = image.height, .values = {}};
    for (size_t i = c; i < image.rgb.size(); i += 3) channel.values.push_back(image.rgb[i]);
    const PixelMask made = f(channel);
    out.width = made.width, out.height = made.height;
    out.rgb.resize(3 * made.values.size());
    for (size_t i = 0; i < made.values.size(); ++i) out.rgb[3 * i + c] = made.values[i];
  }
  return out;
}

Pixels in_all_channels(const PixelMask& mask) {
  Pixels out{.width = mask.width, .height = mask.height, .rgb = {}};
  for (const uint8_t v : mask.values) out.rgb.insert(out.rgb.end(), 3, v);
  return out;
}

template <class F> Pixels by_level(Pixels image, F f) {
  for (uint8_t& v : image.rgb) v = f(v);
  return image;
}

// cv2.GaussianBlur of f32 values with a kernel of 4 σ on each side, whose border mirrors the image without its edge pixel. x [height,
// width]
std::vector<double> smoothed(const std::vector<double>& x, int64_t width, int64_t height, double sigma) {
  const auto half = int64_t(std::lround(sigma * 4));
  std::vector<double> kernel;
  for (int64_t i = -half; i <= half; ++i) kernel.push_back(std::exp(-double(i * i) / (2 * sigma * sigma)));
  double sum = 0;
  for (const double k : kernel) sum += k;
  const auto mirrored = [](int64_t i, int64_t n) {
    if (n == 1) return int64_t(0);
    const int64_t period = 2 * (n - 1), at = ((i % period) + period) % period;
    return at < n ? at : period - at;
  };
  const auto along = [&](const std::vector<double>& from, int64_t n, int64_t stride, int64_t lines, int64_t line_stride) {
    std::vector<double> to(from.size());
    for (int64_t line = 0; line < lines; ++line)
      for (int64_t i = 0; i < n; ++i) {
        double value = 0;
        for (int64_t k = -half; k <= half; ++k)
          value += kernel[size_t(k + half)] * from[size_t(line * line_stride + mirrored(i + k, n) * stride)];
        to[size_t(line * line_stride + i * stride)] = value / sum;
      }
    return to;
  };
  return along(along(x, width, 1, height, width), height, width, width, 1);
}

// A1111's lineart_standard: how much darker a pixel is than its surroundings, on a scale by the median of what is clearly darker.
Pixels line_art(const Pixels& image) {
  constexpr double sigma = 6;
  const auto n = size_t(image.width * image.height);
  std::vector<double> darker(n, 255);
  for (size_t c = 0; c < 3; ++c) {
    std::vector<double> channel;
    for (size_t i = 0; i < n; ++i) channel.push_back(image.rgb[3 * i + c]);
    const std::vector<double> around = smoothed(channel, image.width, image.height, sigma);
    for (size_t i = 0; i < n; ++i) darker[i] = std::min(darker[i], around[i] - channel[i]);
  }
  std::vector<double> clear;
  for (double& v : darker) {
    v = std::clamp(v, 0.0, 255.0);
    if (v > 8) clear.push_back(v);
  }
  double median = 0;
  if (!clear.empty()) {
    std::ranges::sort(clear);
    const size_t m = clear.size() / 2;
    median = clear.size() % 2 ? clear[m] : (clear[m - 1] + clear[m]) / 2;
  }
  PixelMask lines{.width = image.width, .height = image.height, .values = {}};
  for (const double v : darker) lines.values.push_back(uint8_t(std::clamp(v / std::max(16.0, median) * 127, 0.0, 255.0)));
  return in_all_channels(lines);
}

// A smooth field of values from 0 to 1: random numbers every 256 pixels, interpolated.
std::vector<float> field(int64_t width, int64_t height, uint64_t seed, uint32_t which) {
  constexpr int64_t spacing = 256;
  const int64_t columns = width / spacing + 4, rows = height / spacing + 4;
  std::vector<float> knots;
  for (int64_t i = 0; i < rows * columns; ++i) {
    const auto bits = philox4x32({uint32_t(i), which, 0, 0}, {uint32_t(seed), uint32_t(seed >> 32)});
    knots.push_back(float(bits[0] >> 8) / float(1 << 24));
  }
  const int64_t W = columns * spacing, H = rows * spacing;
  const std::vector<float> all = resize(knots, columns, rows, W, H, Filter::bicubic);
  std::vector<float> part;
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x) part.push_back(all[size_t((y + spacing) * W + x + spacing)]);
  const auto [least, most] = std::ranges::minmax(part);
  const float range = most - least;
  for (float& v : part) v = range > 0 ? (v - least) / range : 0;
  return part;
}

// As ControlNet's authors train on: each pixel comes from where two smooth fields say, interpolated between four pixels.
Pixels shuffled(const Pixels& image, uint64_t seed) {
  const int64_t W = image.width, H = image.height;
  const std::vector<float> xs = field(W, H, seed, 0), ys = field(W, H, seed, 1);
  Pixels out{.width = W, .height = H, .rgb = {}};
  for (size_t i = 0; i < xs.size(); ++i) {
    const float x = xs[i] * float(W - 1), y = ys[i] * float(H - 1);
    const auto left = int64_t(x), top = int64_t(y), right = std::min(left + 1, W - 1), below = std::min(top + 1, H - 1);
    const float fx = x - float(left), fy = y - float(top);
    for (size_t c = 0; c < 3; ++c) {
      const auto at = [&](int64_t row, int64_t column) { return float(image.rgb[size_t(row * W + column) * 3 + c]); };
      const float value =
          (at(top, left) * (1 - fx) + at(top, right) * fx) * (1 - fy) + (at(below, left) * (1 - fx) + at(below, right) * fx) * fy;
      out.rgb.push_back(uint8_t(std::lround(value)));
    }
  }
  return out;
}

std::vector<double> values_of(const ControlFilter& filter, const std::vector<std::string>& words, const std::string& how) {
  if (words.size() - 1 > filter.values.size())
    fail<UsageError>("preprocess: '{}' has {} values, expected at most {}", how, words.size() - 1, filter.values.size());
  std::vector<double> values;
  for (size_t i = 0; i < filter.values.size(); ++i) {
    const ControlFilter::Value& v = filter.values[i];
    values.push_back(i + 1 < words.size() ? parse_number(words[i + 1]) : v.standard);
    if (values.back() < v.least || values.back() > v.most)
      fail<UsageError>("preprocess: the {} of '{}' is {}, expected {} to {}", v.name, how, values.back(), v.least, v.most);
  }
  return values;
}

}  // namespace

const std::vector<ControlFilter>& control_filters() {
  static const std::vector<ControlFilter> all{
      {"canny", "edges", {{"lower threshold", 100, 0, 2040}, {"upper threshold", 200, 0, 2040}}},
      {"threshold", "white above a level, else black, in each channel", {{"level", 127, 0, 255}}},
      {"blur", "Gaussian blur", {{"standard deviation", 9, 0, 1000}}},
      {"tile", "a smaller image", {{"factor", 4, 1, 64}}},
      {"invert", "inverted colors", {}},
      {"shuffle", "distorted at random", {{"seed", 0, 0, 4294967295.0}}},
      {"lineart", "dark lines as white ones", {}},
  };
  return all;
}

Pixels control_image(const Pixels& image, const std::string& how) {
  if (how.empty()) return image;
  std::vector<std::string> words;
  for (size_t begin = 0; begin <= how.size();) {
    const size_t end = std::min(how.find(':', begin), how.size());
    words.push_back(how.substr(begin, end - begin));
    begin = end + 1;
  }
  const auto& filters = control_filters();
  const auto filter = std::ranges::find(filters, words[0], &ControlFilter::name);
  if (filter == filters.end()) {
    std::vector<std::string> names;
    for (const ControlFilter& f : filters) names.push_back(f.name);
    fail<UsageError>("preprocess: '{}' is unknown, expected one of {}", words[0], fmt::join(names, ", "));
  }
  const std::vector<double> v = values_of(*filter, words, how);
  const std::string& name = filter->name;
  if (name == "canny") return in_all_channels(canny(image, v[0], v[1]));
  if (name == "threshold") return by_level(image, [&](uint8_t x) { return uint8_t(x > v[0] ? 255 : 0); });
  if (name == "blur") return by_channel(image, [&](const PixelMask& x) { return gaussian_blur(x, v[0]); });
  if (name == "invert") return by_level(image, [](uint8_t x) { return uint8_t(255 - x); });
  if (name == "shuffle") return shuffled(image, uint64_t(v[0]));
  if (name == "lineart") return line_art(image);
  const auto side = [&](int64_t n) { return std::max<int64_t>(1, int64_t(double(n) / v[0])); };
  return resize(image, side(image.width), side(image.height), Filter::box);
}

}  // namespace hearth
