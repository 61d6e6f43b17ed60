#version 460
#extension GL_GOOGLE_include_directive : require
// Layer norm or RMS norm: a workgroup has several short rows, or a long one.
#extension GL_EXT_control_flow_attributes : require
#include "types.glsl"

layout(local_size_x = 128) in;
layout(constant_id = 0) const uint together = 128;  // invocations of a row
struct Parameters {
  uint64_t x, y, gamma, beta, scale, shift;  // 0: none
  uint rows, columns, of_image;  // of_image: rows of an image
  uint scale_step, shift_step, scale_by_row, shift_by_row;
  float eps;
  uint centered, x_type, y_type, padding;
};
PARAMETERS;

#include "sum.glsl"

void main() {
  p = parameters.values;
  if (workgroup() >= workgroups_end) return;
  const uint own = gl_LocalInvocationID.x % together;
  const uint row = min(workgroup() * (gl_WorkGroupSize.x / together) + gl_LocalInvocationID.x / together, p.rows - 1);  // the last ones again
  const uint first = row * p.columns;
  float mean = 0;
  if (p.centered != 0) {
    float sum = 0;
    for (uint c = own; c < p.columns; c += together) sum += read(p.x_type, p.x, first + c);
    mean = sum_of_neighbors(sum) / float(p.columns);
  }
  float squares = 0;
  for (uint c = own; c < p.columns; c += together) {
    const float d = read(p.x_type, p.x, first + c) - mean;
    squares = fma(d, d, squares);
  }
  const float root = sqrt(sum_of_neighbors(squares) / float(p.columns) + p.eps);
  for (uint c = own; c < p.columns; c += together) {
    float value = (read(p.x_type, p.x, first + c) - mean) / root;
    if (p.gamma != 0) value *= read_f32(p.gamma, c);
    if (p.beta != 0) value += read_f32(p.beta, c);
    if (p.scale != 0) value *= 1.0 + read_f32(p.scale, (p.scale_by_row != 0 ? row : row / p.of_image) * p.scale_step + c);
    if (p.shift != 0) value += read_f32(p.shift, (p.shift_by_row != 0 ? row : row / p.of_image) * p.shift_step + c);
    write(p.y_type, p.y, first + c, value);
  }
}
