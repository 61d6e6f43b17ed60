#include "media/editing/mask.h"

#include <algorithm>
#include <cmath>

namespace hearth {
namespace {

constexpr int passes = 3;

// The radius of the boxes whose convolution has the variance of the Gaussian; in f32 like Pillow.
float box_radius(float sigma) {
  const float variance = sigma * sigma / passes;
  const auto length = float(std::sqrt(12.0 * double(variance) + 1.0));
  const auto whole = float(std::floor((double(length) - 1.0) / 2.0));
  float part = (2 * whole + 1) * (whole * (whole + 1) - 3 * variance);
  part /= 6 * (variance - (whole + 1) * (whole + 1));
  return whole + part;
}

// One pass over n values with the given stride: the 2·r + 1 values around each have full weight, the two beyond them a fraction of it, in
// 24-bit fixed point.
void box_blur(uint8_t* x, int64_t n, int64_t stride, float radius, std::vector<uint8_t>& line) {
  for (int64_t i = 0; i < n; ++i) line[size_t(i)] = x[i * stride];
  const auto whole = int64_t(radius);
  const auto full = uint32_t(float(1 << 24) / (radius * 2 + 1));
  const uint32_t part = ((1u << 24) - uint32_t(whole * 2 + 1) * full) / 2;
  const auto at = [&](int64_t i) { return uint32_t(line[size_t(std::clamp<int64_t>(i, 0, n - 1))]); };
  uint32_t sum = 0;
  for (int64_t i = -whole - 1; i < whole; ++i) sum += at(i);
  for (int64_t i = 0; i < n; ++i) {
    sum += at(i + whole) - at(i - whole - 1);
    const uint32_t value = sum * full + (at(i - whole - 1) + at(i + whole + 1)) * part;
    x[i * stride] = uint8_t((value + (1u << 23)) >> 24);
  }
}

template <class Level>
std::vector<Level> on_canvas(const std::vector<Level>& in, int64_t W, int64_t H, int64_t C, const Margins& m, const Level* fill) {
  if (m.left < 0 || m.top < 0 || m.right < 0 || m.bottom < 0)
    fail<UsageError>("extended: margins {}, {}, {}, {}, expected 0 or more", m.left, m.top, m.right, m.bottom);
  const int64_t width = m.left + W + m.right, height = m.top + H + m.bottom;
  std::vector<Level> out(size_t(width * height * C));
  for (size_t i = 0; i < out.size(); ++i) out[i] = fill[i % size_t(C)];
  for (int64_t y = 0; y < H; ++y) std::copy_n(in.begin() + y * W * C, W * C, out.begin() + ((m.top + y) * width + m.left) * C);
  return out;
}

}  // namespace

PixelMask luma(const Pixels& image) {
  PixelMask mask{.width = image.width, .height = image.height, .values = std::vector<uint8_t>(image.rgb.size() / 3)};
  for (size_t i = 0; i < mask.values.size(); ++i) {
    const uint8_t* p = &image.rgb[3 * i];
    mask.values[i] = uint8_t((p[0] * 19595u + p[1] * 38470u + p[2] * 7471u + 0x8000u) >> 16);
  }
  return mask;
}

PixelMask inverted(PixelMask mask) {
  for (uint8_t& value : mask.values) value = uint8_t(255 - value);
  return mask;
}

PixelMask gaussian_blur(const PixelMask& mask, double radius) {
  constexpr double largest = 1e6;
  if (!(radius >= 0 && radius <= largest)) fail<UsageError>("gaussian_blur: radius {}, expected 0 to {}", radius, largest);
  PixelMask out = mask;
  const float box = box_radius(float(radius));
  if (box == 0) return out;
  const int64_t W = mask.width, H = mask.height;
  std::vector<uint8_t> line(size_t(std::max(W, H)));
  for (int64_t y = 0; y < H; ++y)
    for (int pass = 0; pass < passes; ++pass) box_blur(out.values.data() + y * W, W, 1, box, line);
  for (int64_t x = 0; x < W; ++x)
    for (int pass = 0; pass < passes; ++pass) box_blur(out.values.data() + x, H, W, box, line);
  return out;
}

Pixels extended(const Pixels& image, const Margins& m, const std::array<uint8_t, 3>& color) {
  return {.width = m.left + image.width + m.right,
          .height = m.top + image.height + m.bottom,
          .rgb = on_canvas(image.rgb, image.width, image.height, 3, m, color.data())};
}

PixelMask extended(const PixelMask& mask, const Margins& m, uint8_t value) {
  return {.width = m.left + mask.width + m.right,
          .height = m.top + mask.height + m.bottom,
          .values = on_canvas(mask.values, mask.width, mask.height, 1, m, &value)};
}

}  // namespace hearth
