#version 460
#extension GL_GOOGLE_include_directive : require
// x for products of integers (integers.glsl): blocks of 32 values as 16-bit integers q times one scale d, the largest magnitude / 32767. A
// block that contains NaN or infinity has d = NaN and q = 0; one whose largest magnitude is below 2⁻¹⁰⁰ has d = 0.
#include "types.glsl"

layout(local_size_x = 64) in;
struct Parameters {
  uint64_t x, y;
  uint rows, depth;
  uint x_type, few, digits, aligned;
};
PARAMETERS;

#include "quads.glsl"

// Of each invocation's eight values.
shared float magnitudes[gl_WorkGroupSize.x];
shared int sums[gl_WorkGroupSize.x];

void main() {
  p = parameters.values;
  const uint own = gl_LocalInvocationID.x, first = own & ~3u, eight = invocation(), eights = p.depth / 8, row = eight / eights, part = eight % 4;
  const bool exists = workgroup() < workgroups_end && row < p.rows;
  float values[8], largest = 0;
  if (exists) read_eight(p.x_type, p.x, eight * 8, 8, p.aligned != 0, values);
  else
    for (uint j = 0; j < 8; ++j) values[j] = 0;
  for (uint j = 0; j < 8; ++j) largest = isnan(values[j]) ? infinity : max(largest, abs(values[j]));
  magnitudes[own] = largest;
  barrier();
  largest = max(max(magnitudes[first], magnitudes[first + 1]), max(magnitudes[first + 2], magnitudes[first + 3]));
  const bool finite = largest < infinity, counts = finite && largest >= 7.8886090522101181e-31;
  precise const float inverse = counts ? 32767.0 / largest : 0.0, d = counts ? largest / 32767.0 : 0.0;

  int q[8], sum = 0;
  for (uint j = 0; j < 8; ++j) {
    precise const float scaled = values[j] * inverse;
    q[j] = counts ? int(roundEven(scaled)) : 0;
    sum += q[j];
  }
  sums[own] = sum;
  barrier();
  if (!exists) return;
  uvec4 quad = uvec4(0);
  for (uint j = 0; j < 4; ++j) {
    if (p.digits == 0) {
      quad[j] = uint(q[2 * j]) & 0xffffu | uint(q[2 * j + 1]) << 16;
    } else {
      quad[0] |= uint(q[j]) >> 8 << 24 >> (24 - 8 * j), quad[1] |= uint(q[j + 4]) >> 8 << 24 >> (24 - 8 * j);
      quad[2] |= (uint(q[j]) & 255u ^ 128u) << (8 * j), quad[3] |= (uint(q[j + 4]) & 255u ^ 128u) << (8 * j);
    }
  }
  const uint block = eight % eights / 4;
  Quads(p.y).at[quad_at(p.few != 0, p.rows, p.depth / 32, row, block, part)] = quad;
  if (part == 0)
    Quads(p.y).at[quad_at(p.few != 0, p.rows, p.depth / 32, row, block, 4)] =
        uvec4(finite ? floatBitsToUint(d) : 0x7fc00000u, uint(sums[own] + sums[own + 1]), uint(sums[own + 2] + sums[own + 3]), 0);
}
