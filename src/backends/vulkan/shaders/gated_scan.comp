#version 460
#extension GL_GOOGLE_include_directive : require
// Backend::gated_scan: each invocation has a channel.
#include "types.glsl"

#include "functions.glsl"

layout(local_size_x = 64) in;
struct Parameters {
  uint64_t x, log_a, state, y;
  uint T, C, starts;
};
PARAMETERS;

void main() {
  p = parameters.values;
  const uint c = invocation();
  if (c >= p.C) return;
  float state = read_f32(p.state, c);
  for (uint t = 0; t < p.T; ++t) {
    const float g = read_f32(p.log_a, t * p.C + c), factor = p.starts != 0 && t == 0 ? 1.0 : sqrt(-exact_expm1(2.0 * g));
    state = fma(exact_exp(g), state, factor * read_f32(p.x, t * p.C + c));
    Floats(p.y).at[t * p.C + c] = state;
  }
  Floats(p.state).at[c] = state;
}
