#version 460
#extension GL_GOOGLE_include_directive : require
// Backend::state_space_scan: each invocation has a value of a head.
#include "types.glsl"

#include "functions.glsl"

layout(local_size_x = 64) in;
struct Parameters {
  uint64_t x, dt, b, c, a, d, bias, state, y;  // d, bias 0: none
  uint T, N, S, D, of_group, x_step, dt_step, b_step, c_step;  // of_group: heads
  float least, most;
};
PARAMETERS;

void main() {
  p = parameters.values;
  const uint i = invocation();
  if (i >= p.N * p.D) return;
  const uint n = i / p.D, g = n / p.of_group;
  for (uint t = 0; t < p.T; ++t) {
    const float raw = activated(SOFTPLUS, read_f32(p.dt, t * p.dt_step + n) + (p.bias != 0 ? read_f32(p.bias, n) : 0.0));
    const float step = raw < p.least ? p.least : raw > p.most ? p.most : raw, decay = exact_exp(step * read_f32(p.a, n));
    const float x = read_f32(p.x, t * p.x_step + i);
    float sum = p.d != 0 ? read_f32(p.d, n) * x : 0.0;
    for (uint s = 0; s < p.S; ++s) {
      const uint place = (n * p.S + s) * p.D + i % p.D;
      const float now = fma(decay, read_f32(p.state, place), step * x * read_f32(p.b, t * p.b_step + g * p.S + s));
      Floats(p.state).at[place] = now;
      sum = fma(read_f32(p.c, t * p.c_step + g * p.S + s), now, sum);
    }
    Floats(p.y).at[t * p.N * p.D + i] = sum;
  }
}
