#include "sampling/noise/box_muller.h"

#include <cmath>
#include <initializer_list>
#include <utility>

namespace hearth::sampling {
namespace {

// ln, sin and cos of f32 with the polynomials of Stephen Moshier's Cephes library, which torch's vectorized normals use. Whether torch
// rounds a product and a sum once (std::fma) or twice was determined by comparing the bits of 2²⁰ draws.
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

}  // namespace

NormalPair box_muller(float u, float angle) {
  const float radius = std::sqrt(-2 * cephes_log(u));
  const auto [sine, cosine] = cephes_sincos(angle);
  return {radius * cosine, radius * sine};
}

}  // namespace hearth::sampling
