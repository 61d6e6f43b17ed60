// Tiles of integer products: what rows and columns have besides their integers, in shared memory, and the products of units. The includer
// has integers.glsl and tile_size.glsl.
const uint row_fours = tile_rows / 4, column_fours = tile_columns / 4;

shared float row_scales[tile_rows], row_sums[has_least ? units * tile_rows : 1];                        // d; float(S) · d of each unit
shared vec4 column_steps[units * column_fours], column_leasts[has_least ? units * column_fours : 1];  // of each unit

// Zeros where there is no such row or column.
uvec4 quad_of_row(uint row, uint block, uint part) {
  return row < p.rows ? Quads(p.x).at[quad_at(false, p.rows, p.depth / 32, row, block, part)] : uvec4(0);
}
Unit codes_of_column(uint column, uint block, uint part) {
  if (column >= all_columns()) return Unit(0, 0, uvec2(0));
  return unit_of(w_type, weight_row(row_of_column(column)), block * 32 + part * 8, p.grids);
}

void put_last(uint row, uvec4 last) {
  row_scales[row] = scale_of(last);
  if (has_least)
    for (uint u = 0; u < units; ++u) row_sums[u * tile_rows + row] = scaled_sum(last, u);
}

// total += the products of unit u: of a row, and of four columns.
void add_products(uint u, uint row, uint column_four, vec4 whole, inout vec4 total) {
  precise const vec4 scale = column_steps[u * column_fours + column_four] * row_scales[row];
  precise vec4 product = whole * scale;
  if (has_least) product = fma(vec4(row_sums[u * tile_rows + row]), column_leasts[u * column_fours + column_four], product);
  precise const vec4 sum = total + product;
  total = sum;
}
