#version 460
#extension GL_GOOGLE_include_directive : require
// Blocks of 32 values with one binary16 scale: the largest magnitude / 127. As core/quantized/blocks.h rounds them.
#include "types.glsl"

layout(local_size_x = 64) in;
struct Parameters {
  uint64_t x, y;
  uint blocks;
};
PARAMETERS;

void main() {
  p = parameters.values;
  const uint block = invocation();
  if (block >= p.blocks) return;
  float largest = 0;
  bool finite = true;
  for (uint i = 0; i < 32; ++i) {
    const float v = read_f32(p.x, block * 32 + i);
    finite = finite && !isnan(v) && !isinf(v);
    largest = max(largest, abs(v));
  }
  precise const float d = finite ? largest / 127.0 : uintBitsToFloat(0x7fc00000u);
  precise const float inverse = d != 0.0 && finite ? 1.0 / d : 0.0;
  Halves(p.y).at[block * 17] = uint16_t(f32_to_f16(d));
  const uint64_t to = p.y + uint64_t(block) * 34 + 2;
  for (uint i = 0; i < 32; ++i) {
    precise const float scaled = finite ? read_f32(p.x, block * 32 + i) * inverse : 0.0;
    // Halves away from zero, as roundf does.
    const float magnitude = floor(abs(scaled)), fraction = abs(scaled) - magnitude;
    const int q = int(magnitude) + (fraction >= 0.5 ? 1 : 0);
    Bytes(to).at[i] = uint8_t(scaled < 0.0 ? -q : q);
  }
}
