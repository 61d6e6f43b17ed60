#version 460
#extension GL_GOOGLE_include_directive : require
// Average or maximum over windows of one to three axes.
#include "types.glsl"

layout(local_size_x = 64) in;
struct Parameters {
  uint64_t x, y;
  uint count, channels, from[3], to[3], taps[3], stride[3];
  int before[3];
  uint type, largest_value;
};
PARAMETERS;

void main() {
  p = parameters.values;
  const uint i = invocation();
  if (i >= p.count) return;
  const uint c = i % p.channels;
  uint position = i / p.channels;
  int place[3];
  for (int axis = 2; axis >= 0; --axis) {
    place[axis] = int(position % p.to[axis] * p.stride[axis]) - p.before[axis];
    position /= p.to[axis];
  }
  float sum = 0, largest = -infinity;
  for (int f = place[0]; f < place[0] + int(p.taps[0]); ++f)
    for (int h = place[1]; h < place[1] + int(p.taps[1]); ++h)
      for (int w = place[2]; w < place[2] + int(p.taps[2]); ++w) {
        if (f < 0 || h < 0 || w < 0 || f >= int(p.from[0]) || h >= int(p.from[1]) || w >= int(p.from[2])) continue;
        const uint from = ((position * p.from[0] + uint(f)) * p.from[1] + uint(h)) * p.from[2] + uint(w);
        const float value = read(p.type, p.x, from * p.channels + c);
        sum += value;
        largest = isnan(value) || value > largest ? value : largest;
      }
  write(p.type, p.y, i, p.largest_value != 0 ? largest : sum / float(p.taps[0] * p.taps[1] * p.taps[2]));
}
