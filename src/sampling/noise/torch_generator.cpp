#include "sampling/noise/torch_generator.h"

#include <cmath>
#include <numbers>

#include "sampling/noise/box_muller.h"

namespace hearth::sampling {
namespace {

// Box & Muller 1958 on 16 uniforms: the first 8 give radii, the last 8 angles.
void box_muller_16(float* d) {
  for (int j = 0; j < 8; ++j) {
    const NormalPair pair = box_muller(1 - d[j], float(2 * std::numbers::pi) * d[j + 8]);
    d[j] = pair.cosine;
    d[j + 8] = pair.sine;
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
