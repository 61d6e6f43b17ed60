#version 460
#extension GL_GOOGLE_include_directive : require
// Mean and 1 / √(variance + eps) of each group of channels of an image: one workgroup for a group, in two passes.
#extension GL_EXT_control_flow_attributes : require
#include "types.glsl"

layout(local_size_x = 256) in;
struct Parameters {
  uint64_t x, y;  // y [B, groups, 2]
  uint groups, positions, channels;
  float eps;
  uint x_type;
};
PARAMETERS;

const uint together = gl_WorkGroupSize.x;
#include "sum.glsl"

void main() {
  p = parameters.values;
  const uint index = workgroup();
  if (index >= workgroups_end) return;
  const uint width = p.channels / p.groups, count = p.positions * width;
  const uint first = index / p.groups * p.positions * p.channels + index % p.groups * width;
  float sum = 0;
  for (uint i = gl_LocalInvocationID.x; i < count; i += gl_WorkGroupSize.x) sum += read(p.x_type, p.x, first + i / width * p.channels + i % width);
  const float mean = sum_of_neighbors(sum) / float(count);
  float squares = 0;
  for (uint i = gl_LocalInvocationID.x; i < count; i += gl_WorkGroupSize.x) {
    const float d = read(p.x_type, p.x, first + i / width * p.channels + i % width) - mean;
    squares = fma(d, d, squares);
  }
  const float variance = sum_of_neighbors(squares) / float(count);
  if (gl_LocalInvocationID.x == 0) {
    Floats(p.y).at[2 * index] = mean;
    Floats(p.y).at[2 * index + 1] = 1.0 / sqrt(variance + p.eps);
  }
}
