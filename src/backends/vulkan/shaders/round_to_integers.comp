#version 460
#extension GL_GOOGLE_include_directive : require
// Blocks of 32 values as 16-bit integers times one scale, the largest magnitude / 32767; stored as f32. A block that contains NaN or
// infinity becomes NaN.
#include "types.glsl"

layout(local_size_x = 64) in;
struct Parameters {
  uint64_t x, y;
  uint blocks;
  uint x_type;
};
PARAMETERS;

void main() {
  p = parameters.values;
  const uint block = invocation();
  if (block >= p.blocks) return;
  float largest = 0;
  bool finite = true;
  for (uint i = block * 32; i < block * 32 + 32; ++i) {
    const float v = read(p.x_type, p.x, i);
    finite = finite && !isnan(v) && !isinf(v);
    largest = max(largest, abs(v));
  }
  const bool counts = finite && largest >= 7.8886090522101181e-31;
  precise const float inverse = counts ? 32767.0 / largest : 0.0;
  precise const float step = finite ? (counts ? largest / 32767.0 : 0.0) : uintBitsToFloat(0x7fc00000u);
  for (uint i = block * 32; i < block * 32 + 32; ++i) {
    precise const float scaled = read(p.x_type, p.x, i) * inverse;
    Floats(p.y).at[i] = (counts ? roundEven(scaled) : 0.0) * step;
  }
}
