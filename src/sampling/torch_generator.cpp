#include "sampling/torch_generator.h"

#include <cmath>
#include <initializer_list>
#include <numbers>
#include <utility>

namespace hearth::sampling {
namespace {

// ln, sin and cos of f32 with the polynomials of Stephen Moshier's Cephes library, which torch's vectorised normals use. Where a
// product and a sum are one rounding there (std::fma) and where they are two has been found by comparing the bits of 2²⁰ draws.
float polynomial(float x, std::initializer_list<float> coefficients) {  // highest power first
  float y = 0;
  for (const float c : coefficients) y = std::fma(y, x, c);
  return y;
}

float cephes_log(float v) {
  int exponent = 0;
  float x = std::frexp(v, &exponent);  // in [½, 1)
  if (x < 0.707106781186547524f) {
    x = x - 1 + x;
    --exponent;
  } else {
    x = x - 1;
  }
  const float e = float(exponent), z = x * x;
  float y = polynomial(x, {7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f, 1.4249322787e-1f, -1.6668057665e-1f,
                           2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f});
  y = std::fma(y * x, z, e * -2.12194440e-4f);  // ln 2 in two parts
  y = y - z * 0.5f;
  return x + y + e * 0.693359375f;
}

struct SinCos {
  float sin, cos;
};

SinCos cephes_sincos(float angle) {                              // 0 ≤ angle < 2π
  const int octant = (int(angle * 1.27323954473516f) + 1) & ~1;  // the nearest multiple of π/2, in eighths of a turn
  const float o = float(octant);
  const float x = angle - o * 0.78515625f - o * 2.4187564849853515625e-4f - o * 3.77489497744594108e-8f;  // π/4 in three parts
  const float z = x * x;
  const float c = polynomial(z, {2.443315711809948e-5f, -1.388731625493765e-3f, 4.166664568298827e-2f}) * z;
  const float s = polynomial(z, {-1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f}) * z;
  float cosine = std::fma(c, z, -(z * 0.5f)) + 1, sine = std::fma(s, x, x);
  if (octant & 2) std::swap(sine, cosine);
  return {octant & 4 ? -sine : sine, (octant + 2) & 4 ? -cosine : cosine};
}

// Box & Muller 1958 on 16 uniforms: the first 8 give radii, the last 8 angles.
void box_muller_16(float* d) {
  for (int j = 0; j < 8; ++j) {
    const float radius = std::sqrt(-2 * cephes_log(1 - d[j]));
    const auto [sine, cosine] = cephes_sincos(float(2 * std::numbers::pi) * d[j + 8]);
    d[j] = radius * cosine;
    d[j + 8] = radius * sine;
  }
}

}  // namespace

float TorchGenerator::uniform24() { return float(engine_() & 0xffffffu) * 0x1p-24f; }

double TorchGenerator::uniform53() {
  const uint64_t high = engine_(), low = engine_();
  return double((high << 32 | low) & ((uint64_t(1) << 53) - 1)) * 0x1p-53;
}

double TorchGenerator::next_normal() {
  if (waiting_) {
    const double value = *waiting_;
    waiting_.reset();
    return value;
  }
  const double u1 = uniform53(), u2 = uniform53();
  const double radius = std::sqrt(-2 * std::log1p(-u2)), angle = 2 * std::numbers::pi * u1;
  waiting_ = radius * std::sin(angle);
  return radius * std::cos(angle);
}

void TorchGenerator::uniform(std::span<float> out) {
  for (float& v : out) v = uniform24();
}

void TorchGenerator::normal(std::span<float> out) {
  const size_t n = out.size();
  if (n < 16) {
    for (float& v : out) v = float(next_normal());
    return;
  }
  uniform(out);
  for (size_t i = 0; i + 16 <= n; i += 16) box_muller_16(&out[i]);
  if (n % 16 != 0) {
    uniform(out.last(16));
    box_muller_16(&out[n - 16]);
  }
}

}  // namespace hearth::sampling
