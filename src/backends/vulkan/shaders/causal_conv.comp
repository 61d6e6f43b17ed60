#version 460
#extension GL_GOOGLE_include_directive : require
// A convolution of each channel over a text, whose last rows are kept for the next call: each invocation has a channel.
#include "types.glsl"

#include "functions.glsl"

layout(local_size_x = 64) in;
struct Parameters {
  uint64_t x, taps, bias, tail, y;  // bias 0: none
  uint T, C, K, x_step, taps_step, tail_step;
  uint activation;
};
PARAMETERS;

const uint most_taps = 32;

float row(uint r, uint c) { return r < p.K - 1 ? read_f32(p.tail, r * p.tail_step + c) : read_f32(p.x, (r - p.K + 1) * p.x_step + c); }

void main() {
  p = parameters.values;
  const uint c = invocation();
  if (c >= p.C) return;
  for (uint t = 0; t < p.T; ++t) {
    float sum = p.bias != 0 ? read_f32(p.bias, c) : 0.0;
    for (uint k = 0; k < p.K; ++k) sum = fma(read_f32(p.taps, k * p.taps_step + c), row(t + k, c), sum);
    Floats(p.y).at[t * p.C + c] = activated(p.activation, sum);
  }
  float last[most_taps];
  for (uint r = 0; r + 1 < p.K; ++r) last[r] = row(p.T + r, c);
  for (uint r = 0; r + 1 < p.K; ++r) Floats(p.tail).at[r * p.tail_step + c] = last[r];
}
