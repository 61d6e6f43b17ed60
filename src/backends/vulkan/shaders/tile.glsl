// Products of rows and columns: a workgroup computes a tile of y through shared memory, an invocation `own_rows` × `own_columns` of it, both
// multiples of 4. The includer defines load_left(row, k, values) and load_right(column, k, values): values k … k + 7, and zeros for what is
// beyond its depth, rows and columns.
//
// Each chunk of k is summed in order, and the chunks' sums in order, whatever the tile: an element of y depends on its row and column only.
#extension GL_EXT_control_flow_attributes : require

#include "tile_size.glsl"

const uint chunk = 32;  // of k
const uint factors_size = chunk * (tile_rows + tile_columns), results_size = tile_rows * tile_columns;

// Both sides of a chunk, [chunk][rows] and [chunk][columns]; in the end the sums, [rows][columns].
shared vec4 tile[(factors_size > results_size ? factors_size : results_size) / 4];

float sum_at(uint row, uint column) {
  const uint i = row * tile_columns + column;
  return tile[i / 4][i % 4];
}
