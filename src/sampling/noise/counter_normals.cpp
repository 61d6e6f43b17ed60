#include "sampling/noise/counter_normals.h"

#include <cmath>
#include <numbers>

#include "core/philox.h"
#include "sampling/noise/box_muller.h"

namespace hearth::sampling {
namespace {

std::array<uint32_t, 2> key_of(uint64_t seed) { return {uint32_t(seed), uint32_t(seed >> 32)}; }

}  // namespace

void counter_normals(uint64_t seed, CounterPlace place, std::span<float> out) {
  for (size_t i = 0; i < out.size(); i += 4) {
    const auto words = philox4x32({uint32_t(i / 4), place.low, place.high, uint32_t(place.stream)}, key_of(seed));
    for (size_t pair = 0; pair < 2; ++pair) {
      const float u = float(words[2 * pair]) * 0x1p-32f + 0x1p-33f;
      const auto [cosine, sine] = box_muller(u, float(2 * std::numbers::pi) * (float(words[2 * pair + 1] >> 8) * 0x1p-24f));
      if (i + 2 * pair < out.size()) out[i + 2 * pair] = cosine;
      if (i + 2 * pair + 1 < out.size()) out[i + 2 * pair + 1] = sine;
    }
  }
}

void nv_normals(uint64_t seed, uint32_t draw, std::span<float> out) {
  constexpr double turn = float(2 * std::numbers::pi);  // an f32 constant there
  for (size_t i = 0; i < out.size(); ++i) {
    const auto words = philox4x32({draw, 0, uint32_t(i), 0}, key_of(seed));
    const double u = words[0] * 0x1p-32 + 0x1p-33, v = (words[1] * 0x1p-32 + 0x1p-33) * turn;
    out[i] = float(std::sqrt(-2 * std::log(u)) * std::sin(v));
  }
}

}  // namespace hearth::sampling
