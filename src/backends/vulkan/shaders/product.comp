#version 460
#extension GL_GOOGLE_include_directive : require
// y = x wᵀ with an epilogue; of a gated linear unit with w's rows of values and gates in pairs: its column 2n is row n, 2n + 1 row
// `outputs` + n.
#include "types.glsl"

#include "functions.glsl"

#include "epilogue.glsl"

struct Parameters {
  Epilogue epilogue;
  uint64_t x, w, y, grids;
  uint row_tiles, rows, outputs, depth;
  uint x_type, plain_type, gated, aligned;
};
PARAMETERS;

#include "tile.glsl"

#include "weights.glsl"

void load_left(uint row, uint k, out float values[8]) {
  if (row >= p.rows || k >= p.depth)
    for (uint j = 0; j < 8; ++j) values[j] = 0;
  else
    read_eight(p.x_type, p.x, row * p.depth + k, p.depth - k, p.aligned != 0, values);
}
void load_right(uint column, uint k, out float values[8]) {
  if (column >= p.outputs * (1 + p.gated) || k >= p.depth)
    for (uint j = 0; j < 8; ++j) values[j] = 0;
  else
    read_weights(weight_row(p.gated != 0 ? column / 2 + column % 2 * p.outputs : column), k, values);
}

#include "multiply.glsl"

void main() {
  p = parameters.values;
  if (workgroup() >= workgroups_end) return;
  const uint row0 = workgroup() % p.row_tiles * tile_rows, column0 = workgroup() / p.row_tiles * tile_columns;
  multiply_tile(row0, column0, p.depth);
  const uint width = tile_columns / (1 + p.gated);
  [[dont_unroll]] for (uint i = gl_LocalInvocationID.x; i < tile_rows * width; i += gl_WorkGroupSize.x) {
    const uint row = row0 + i / width, n = column0 / (1 + p.gated) + i % width;
    if (row >= p.rows || n >= p.outputs) continue;
    const uint columns = p.outputs * (1 + p.gated), gate = p.gated != 0 ? p.outputs + n : n;
    float value = activated(p.epilogue.activation, shifted(p.epilogue, sum_at(i / width, (1 + p.gated) * (i % width) + p.gated), row, gate, columns));
    if (p.gated != 0) value *= shifted(p.epilogue, sum_at(i / width, 2 * (i % width)), row, n, columns);
    store(p.epilogue, p.y, value, row, n, p.outputs);
  }
}
