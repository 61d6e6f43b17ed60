#version 460
#extension GL_GOOGLE_include_directive : require
// integer_product.comp for cards with dot products of bytes.
#extension GL_EXT_control_flow_attributes : require
#include "types.glsl"

#include "functions.glsl"

#include "epilogue.glsl"

#include "outputs.glsl"

#include "integers.glsl"

#include "tile_size.glsl"

#include "integer_tile.glsl"

#include "dots.glsl"

// A block of 32 values: words of four values, of four rows or columns. First the high digits [8][rows], the low digits, the codes
// [8][columns]; in the end the sums, [rows][columns].
const uint right = 16 * row_fours, factors_size = right + 8 * column_fours, results_size = tile_rows * column_fours;
shared uvec4 tile[factors_size > results_size ? factors_size : results_size];
shared ivec4 column_sums[4 * column_fours];  // of the codes of a part

float sum_at(uint row, uint column) {
  const uint i = row * tile_columns + column;
  return uintBitsToFloat(tile[i / 4][i % 4]);
}

// Eight values of a row, or eight codes of a column.
void load_row(uint row0, uint block, uint job) {
  const uint part = job % 4, row = job / 4;
  const uvec4 quad = quad_of_row(row0 + row, block, part);
  for (uint j = 0; j < 4; ++j) tile[(j / 2 * 8 + part * 2 + j % 2) * row_fours + row / 4][row % 4] = quad[j];
}
void load_column(uint column0, uint block, uint job) {
  const uint part = job % 4, column = job / 4, four = column / 4, of_four = column % 4;
  const Unit codes = codes_of_column(column0 + column, block, part);
  tile[right + part * 2 * column_fours + four][of_four] = codes.codes.x;
  tile[right + (part * 2 + 1) * column_fours + four][of_four] = codes.codes.y;
  column_sums[part * column_fours + four][of_four] = sum_of_bytes(codes.codes.x) + sum_of_bytes(codes.codes.y);
  if (part * 8 % unit != 0) return;
  column_steps[part * 8 / unit * column_fours + four][of_four] = codes.scale;
  if (has_least) column_leasts[part * 8 / unit * column_fours + four][of_four] = codes.offset;
}

#include "store_tile.glsl"

void main() {
  p = parameters.values;
  if (workgroup() >= workgroups_end) return;
  const uint row0 = workgroup() % p.row_tiles * tile_rows, column0 = workgroup() / p.row_tiles * tile_columns;
  const uint own = gl_LocalInvocationID.x, x = own % across, y = own / across, width = own_columns / 4;
  vec4 totals[own_rows * width];
  for (uint i = 0; i < own_rows * width; ++i) totals[i] = vec4(0);
  [[dont_unroll]] for (uint block = 0; block < p.depth / 32; ++block) {
    [[dont_unroll]] for (uint job = own; job < 4 * tile_rows; job += gl_WorkGroupSize.x) load_row(row0, block, job);
    [[dont_unroll]] for (uint job = own; job < 4 * tile_columns; job += gl_WorkGroupSize.x) load_column(column0, block, job);
    [[dont_unroll]] for (uint r = own; r < tile_rows; r += gl_WorkGroupSize.x) put_last(r, quad_of_row(row0 + r, block, 4));
    barrier();
    [[dont_unroll]] for (uint u = 0; u < units; ++u) {
      ivec4 sums[own_rows * width];
      for (uint i = 0; i < own_rows * width; ++i) sums[i] = ivec4(0);
      [[dont_unroll]] for (uint digit = 0; digit < 2; ++digit) {
        for (uint i = 0; i < own_rows * width; ++i) sums[i] <<= 8;
        [[dont_unroll]] for (uint k = u * unit / 4; k < (u + 1) * unit / 4; ++k) {
          uvec4 codes[width];
          for (uint c = 0; c < width; ++c) codes[c] = tile[right + (k * across + x) * width + c];
          for (uint r = 0; r < own_rows; r += 4) {
            const uvec4 digits = tile[(digit * 8 + k) * row_fours + (y * own_rows + r) / 4];
            for (uint i = 0; i < 4; ++i)
              for (uint c = 0; c < width; ++c)
                for (uint j = 0; j < 4; ++j) sums[(r + i) * width + c][j] += signed_dot(digits[i], codes[c][j]);
          }
        }
      }
      ivec4 code_sums[width];
      for (uint c = 0; c < width; ++c) {
        code_sums[c] = ivec4(0);
        for (uint part = u * unit / 8; part < (u + 1) * unit / 8; ++part) code_sums[c] += column_sums[(part * across + x) * width + c];
      }
      for (uint i = 0; i < own_rows * width; ++i) sums[i] += 128 * code_sums[i % width];
      for (uint i = 0; i < own_rows * width; ++i) add_products(u, y * own_rows + i / width, x * width + i % width, vec4(sums[i]), totals[i]);
    }
    barrier();
  }
  for (uint r = 0; r < own_rows; ++r)
    for (uint c = 0; c < width; ++c) tile[((y * own_rows + r) * across + x) * width + c] = floatBitsToUint(totals[r * width + c]);
  barrier();
  store_tile(row0, column0);
}
