#version 460
#extension GL_GOOGLE_include_directive : require
// Backend::selective_scan: each invocation has a channel.
#include "types.glsl"

#include "functions.glsl"

layout(local_size_x = 64) in;
struct Parameters {
  uint64_t x, dt, a, b, c, d, state, y;  // d 0: none
  uint T, C, S, x_step, dt_step, b_step, c_step;
};
PARAMETERS;

void main() {
  p = parameters.values;
  const uint i = invocation();
  if (i >= p.C) return;
  for (uint t = 0; t < p.T; ++t) {
    const float x = read_f32(p.x, t * p.x_step + i), dt = read_f32(p.dt, t * p.dt_step + i);
    float sum = p.d != 0 ? read_f32(p.d, i) * x : 0.0;
    for (uint s = 0; s < p.S; ++s) {
      const uint place = s * p.C + i;
      const float now = fma(exact_exp(dt * read_f32(p.a, place)), read_f32(p.state, place), dt * x * read_f32(p.b, t * p.b_step + s));
      Floats(p.state).at[place] = now;
      sum = fma(read_f32(p.c, t * p.c_step + s), now, sum);
    }
    Floats(p.y).at[t * p.C + i] = sum;
  }
}
