#version 460
#extension GL_GOOGLE_include_directive : require
// Ops of each element on its own: an activation; a sum with factors; a product; a scale and shift per column.
#include "types.glsl"

#include "functions.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint op = 0;

const uint ACTIVATE = 0, COMBINE = 1, MULTIPLY = 2, AFFINE = 3;
const uint most = 8;  // tensors of a sum

struct Parameters {
  uint64_t y, x[most];
  float factor[most];
  uint type[most];
  uint count, xs;
  // AFFINE: scale x[1] and shift x[2] or 0; rows of an image, columns, and the step from row to row; by image or by row
  uint rows, columns, step[2], by_row[2];
  uint y_type, activation, x_type, other_type;
};
PARAMETERS;

float combined(uint i) {
  precise float sum = 0;
  for (uint j = 0; j < p.xs; ++j) sum = fma(p.factor[j], read(p.type[j], p.x[j], i), sum);
  return sum;
}

float modulation(uint which, uint row, uint column) {
  return read_f32(p.x[1 + which], (p.by_row[which] != 0 ? row : row / p.rows) * p.step[which] + column);
}

float affine(uint i) {
  const uint row = i / p.columns, column = i % p.columns;
  precise float value = read(p.x_type, p.x[0], i);
  if (p.x[1] != 0) value *= modulation(0, row, column);
  if (p.x[2] != 0) value += modulation(1, row, column);
  return value;
}

void main() {
  p = parameters.values;
  const uint i = invocation();
  if (i >= p.count) return;
  float value = 0;
  if (op == ACTIVATE) value = activated(p.activation, read(p.x_type, p.x[0], i));
  if (op == COMBINE) value = combined(i);
  if (op == MULTIPLY) value = read(p.x_type, p.x[0], i) * read(p.other_type, p.x[1], i);
  if (op == AFFINE) value = affine(i);
  write(p.y_type, p.y, i, value);
}
