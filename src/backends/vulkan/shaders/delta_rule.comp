#version 460
#extension GL_GOOGLE_include_directive : require
// Backend::delta_rule: each invocation has a column of a head's state.
#include "types.glsl"

#include "functions.glsl"

layout(local_size_x = 64) in;
struct Parameters {
  uint64_t q, k, v, decay, beta, a, b, state, y;  // beta, a, b 0: none
  uint T, G, Dk, H, Dv, each, reads_before, by_rate;
};
PARAMETERS;

float decay_of(uint i) {
  const float stated = read_f32(p.decay, i);
  return exact_exp(p.by_rate != 0 ? -exact_exp(stated) : stated);
}

void main() {
  p = parameters.values;
  const uint i = invocation();
  if (i >= p.H * p.Dv) return;
  const uint h = i / p.Dv, g = h / (p.H / p.G), column = i % p.Dv, state = h * p.Dk * p.Dv + column;
  for (uint t = 0; t < p.T; ++t) {
    const uint own = (t * p.H + h) * p.Dk, shared_row = (t * p.G + g) * p.Dk;
    float v = read_f32(p.v, (t * p.H + h) * p.Dv + column), seen = 0, result = 0;
    const float of_head = p.each != 0 ? 0.0 : decay_of(t * p.H + h);
    for (uint j = 0; j < p.Dk; ++j) {
      const float old = read_f32(p.state, state + j * p.Dv);
      if (p.a != 0) seen = fma(old, read_f32(p.a, own + j), seen);
      if (p.beta != 0) seen = fma((p.each != 0 ? decay_of(own + j) : of_head) * old, read_f32(p.k, shared_row + j), seen);
    }
    if (p.beta != 0) v = read_f32(p.beta, t * p.H + h) * (v - seen);
    for (uint j = 0; j < p.Dk; ++j) {
      const float old = read_f32(p.state, state + j * p.Dv), decay = p.each != 0 ? decay_of(own + j) : of_head;
      float now = fma(decay, old, read_f32(p.k, shared_row + j) * v);
      if (p.b != 0) now = fma(read_f32(p.b, own + j), seen, now);
      Floats(p.state).at[state + j * p.Dv] = now;
      result = fma(read_f32(p.q, shared_row + j), p.reads_before != 0 ? old : now, result);
    }
    Floats(p.y).at[(t * p.H + h) * p.Dv + column] = result;
  }
}
