#version 460
#extension GL_GOOGLE_include_directive : require
// Nearest neighbor, [B, H, W, C] → [B, H', W', C].
#include "types.glsl"

layout(local_size_x = 64) in;
struct Parameters {
  uint64_t x, y;
  uint count, channels, from[2], to[2];
  float ratio[2];
  uint x_type, y_type;
};
PARAMETERS;

uint source(uint axis, uint i) {
  precise const float place = float(i) * p.ratio[axis];
  return min(uint(place), p.from[axis] - 1);
}

void main() {
  p = parameters.values;
  const uint i = invocation();
  if (i >= p.count) return;
  const uint c = i % p.channels, position = i / p.channels, column = position % p.to[1], row = position / p.to[1] % p.to[0];
  const uint image = position / p.to[1] / p.to[0];
  const uint from = ((image * p.from[0] + source(0, row)) * p.from[1] + source(1, column)) * p.channels + c;
  write(p.y_type, p.y, i, read(p.x_type, p.x, from));
}
