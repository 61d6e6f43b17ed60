// The parameters of all products, and store_output(), which applies the epilogue to a sum. Needs functions.glsl and epilogue.glsl.
struct Parameters {
  Epilogue epilogue;
  uint64_t x, w, y, grids;
  uint row_tiles, rows, outputs, depth;
  uint x_type, plain_type, gated, aligned, rounds, padding;  // rounds: see multiply.glsl
};
PARAMETERS;

// Rows of w: of a gated linear unit those of values and gates in pairs, column 2n of the product is row n, 2n + 1 row `outputs` + n.
uint all_columns() { return p.outputs * (1 + p.gated); }
uint row_of_column(uint column) { return p.gated != 0 ? column / 2 + column % 2 * p.outputs : column; }

// y[row, n] of the sum of column n, or of the sums of a gated linear unit's value and gate. Of others both are the same.
void store_output(uint row, uint n, float sum, float gate_sum) {
  const uint gate = p.gated != 0 ? p.outputs + n : n;
  float value = activated(p.epilogue.activation, shifted(p.epilogue, gate_sum, row, gate, all_columns()));
  if (p.gated != 0) value *= shifted(p.epilogue, sum, row, n, all_columns());
  store(p.epilogue, p.y, value, row, n, p.outputs);
}
