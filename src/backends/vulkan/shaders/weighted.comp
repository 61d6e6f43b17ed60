#version 460
#extension GL_GOOGLE_include_directive : require
// Backend::add_weighted: y = base + (Σ q·k·u) · v for each row.
#include "types.glsl"

layout(local_size_x = 64) in;
struct Parameters {
  uint64_t base, q, k, u, v, y;
  uint count, H, Dk, Dv;
};
PARAMETERS;

void main() {
  p = parameters.values;
  const uint i = invocation();
  if (i >= p.count) return;
  const uint row = i / p.Dv;
  float weight = 0;
  for (uint j = 0; j < p.Dk; ++j)
    weight = fma(read_f32(p.q, row * p.Dk + j) * read_f32(p.k, row * p.Dk + j), read_f32(p.u, row % p.H * p.Dk + j), weight);
  Floats(p.y).at[i] = fma(weight, read_f32(p.v, i), read_f32(p.base, i));
}
