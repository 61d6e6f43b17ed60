#version 460
#extension GL_GOOGLE_include_directive : require
// y = x wᵀ with an epilogue.
#include "types.glsl"

#include "functions.glsl"

#include "epilogue.glsl"

#include "outputs.glsl"

#include "tile.glsl"

#include "weights.glsl"

void load_left(uint row, uint k, out float values[8]) {
  if (row >= p.rows || k >= p.depth)
    for (uint j = 0; j < 8; ++j) values[j] = 0;
  else
    read_eight(p.x_type, p.x, row * p.depth + k, p.depth - k, p.aligned != 0, values);
}
void load_right(uint column, uint k, out float values[8]) {
  if (column >= all_columns() || k >= p.depth)
    for (uint j = 0; j < 8; ++j) values[j] = 0;
  else
    read_weights(weight_row(row_of_column(column)), k, values);
}

#include "multiply.glsl"

#include "store_tile.glsl"

void main() {
  p = parameters.values;
  if (workgroup() >= workgroups_end) return;
  const uint row0 = workgroup() % p.row_tiles * tile_rows, column0 = workgroup() / p.row_tiles * tile_columns;
  multiply_tile(row0, column0, p.depth, p.rounds);
  store_tile(row0, column0);
}
