// Outputs of a tile whose sums sum_at() has. Needs outputs.glsl and tile_size.glsl.
void store_tile(uint row0, uint column0) {
  const uint outputs = tile_columns / (1 + p.gated);
  [[dont_unroll]] for (uint i = gl_LocalInvocationID.x; i < tile_rows * outputs; i += gl_WorkGroupSize.x) {
    const uint row = row0 + i / outputs, n = column0 / (1 + p.gated) + i % outputs, first = (1 + p.gated) * (i % outputs);
    if (row < p.rows && n < p.outputs) store_output(row, n, sum_at(i / outputs, first), sum_at(i / outputs, first + p.gated));
  }
}
