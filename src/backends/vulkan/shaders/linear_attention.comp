#version 460
#extension GL_GOOGLE_include_directive : require
// Backend::linear_attention. In pass 0 each invocation sums k ⊗ v for one element of a head's matrix [D, Dv + 1], whose last column has the
// sums of k; in pass 1 each makes one value of y from it.
#include "types.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint pass_number = 0;
struct Parameters {
  uint64_t q, k, v, sums, y;
  uint B, T, S, N, D, Dv;
  float eps;
};
PARAMETERS;

void main() {
  p = parameters.values;
  const uint i = invocation(), width = p.Dv + 1;
  if (pass_number == 0) {
    if (i >= p.B * p.N * p.D * width) return;
    const uint column = i % width, d = i / width % p.D, n = i / width / p.D % p.N, b = i / width / p.D / p.N;
    float total = 0;
    for (uint s0 = 0; s0 < p.S; s0 += 64) {  // sums of sums: their error does not grow with S
      float sum = 0;
      for (uint s = s0; s < min(s0 + 64, p.S); ++s) {
        const uint key = (b * p.S + s) * p.N + n;
        sum = fma(read_f32(p.k, key * p.D + d), column < p.Dv ? read_f32(p.v, key * p.Dv + column) : 1.0, sum);
      }
      total += sum;
    }
    Floats(p.sums).at[i] = total;
  } else {
    if (i >= p.B * p.T * p.N * p.Dv) return;
    const uint column = i % p.Dv, row = i / p.Dv, head = row / p.N / p.T * p.N + row % p.N;
    float value = 0, weight = 0;
    for (uint d = 0; d < p.D; ++d) {
      const float q = read_f32(p.q, row * p.D + d);
      value = fma(q, read_f32(p.sums, (head * p.D + d) * width + column), value);
      weight = fma(q, read_f32(p.sums, (head * p.D + d) * width + p.Dv), weight);
    }
    Floats(p.y).at[i] = value / (weight + p.eps);
  }
}
