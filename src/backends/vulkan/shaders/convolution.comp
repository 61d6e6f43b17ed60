#version 460
#extension GL_GOOGLE_include_directive : require
// A convolution as a product: the rows are output positions, k goes over the taps and the channels of each. Its weight is [O][taps][C].
#extension GL_EXT_control_flow_attributes : require
#include "types.glsl"

#include "functions.glsl"

#include "epilogue.glsl"

#include "windows.glsl"

struct Parameters {
  Epilogue epilogue;
  Windows windows;
  uint64_t x, w, y;
  uint row_tiles, rows, outputs, depth;
  uint x_type, w_type, aligned, rounds;
};
PARAMETERS;

#include "tile.glsl"

// An eight stays within a tap if C is a multiple of 8.
void load_left(uint row, uint k, out float values[8]) {
  for (uint j = 0; j < 8; ++j) values[j] = 0;
  if (row >= p.rows || k >= p.depth) return;
  const uint image = row / p.epilogue.image_rows, place = row % p.epilogue.image_rows, C = p.windows.channels;
  if (p.aligned != 0) {
    const int from = window_source(p.windows, place, k / C);
    if (from < 0) return;
    read_eight(p.x_type, p.x, (image * p.windows.image + uint(from)) * C + k % C, 8, true, values);
    return;
  }
  [[dont_unroll]] for (uint j = 0; j < 8; ++j) {
    const int from = k + j < p.depth ? window_source(p.windows, place, (k + j) / C) : -1;
    append(values, from < 0 ? 0.0 : read(p.x_type, p.x, (image * p.windows.image + uint(from)) * C + (k + j) % C));
  }
}
void load_right(uint column, uint k, out float values[8]) {
  if (column >= p.outputs || k >= p.depth)
    for (uint j = 0; j < 8; ++j) values[j] = 0;
  else
    read_eight(p.w_type, p.w, column * p.depth + k, p.depth - k, p.aligned != 0, values);
}

#include "multiply.glsl"

void main() {
  p = parameters.values;
  if (workgroup() >= workgroups_end) return;
  const uint row0 = workgroup() % p.row_tiles * tile_rows, column0 = workgroup() / p.row_tiles * tile_columns;
  multiply_tile(row0, column0, p.depth, p.rounds);
  [[dont_unroll]] for (uint i = gl_LocalInvocationID.x; i < tile_rows * tile_columns; i += gl_WorkGroupSize.x) {
    const uint row = row0 + i / tile_columns, n = column0 + i % tile_columns;
    if (row >= p.rows || n >= p.outputs) continue;
    store(p.epilogue, p.y, activated(p.epilogue.activation, shifted(p.epilogue, sum_at(i / tile_columns, i % tile_columns), row, n, p.outputs)), row, n, p.outputs);
  }
}
