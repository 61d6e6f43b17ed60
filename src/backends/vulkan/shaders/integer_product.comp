#version 460
#extension GL_GOOGLE_include_directive : require
// y = x wᵀ of the integers that w stores (integers.glsl), for any card: integers of less than 2²⁴ are exact in f32, and so are sums of
// products, if few enough are added before they are converted.
#extension GL_EXT_control_flow_attributes : require
#include "types.glsl"

#include "functions.glsl"

#include "epilogue.glsl"

#include "outputs.glsl"

#include "integers.glsl"

#include "tile.glsl"

#include "integer_tile.glsl"

// So many products of q and a code have a sum of at most 2²⁴: q has 15 bits, codes of 8 bits leave four, those of iq2 and iq3_xxs eight …
const bool large_codes = w_type == Q8_0 || w_type == IQ4_NL || w_type == IQ4_XS;
const bool medium_codes = w_type == IQ2_XXS || w_type == IQ2_XS || w_type == IQ2_S || w_type == IQ3_XXS;
const uint exact = large_codes ? 4 : medium_codes ? 8 : w_type == Q5_1 || w_type == Q5_K ? 16 : unit;

const uint right = chunk * row_fours;  // where columns begin in the tile

// Eight values of four rows or columns.
void load(uint row0, uint column0, uint block, uint job) {
  const bool is_left = job < 4 * row_fours;
  const uint i = is_left ? job : job - 4 * row_fours, part = i % 4, four = i / 4, step = is_left ? row_fours : column_fours;
  vec4 gathered[8], steps = vec4(0), leasts = vec4(0);
  for (uint j = 0; j < 8; ++j) gathered[j] = vec4(0);
  [[dont_unroll]] for (uint r = four * 4; r < four * 4 + 4; ++r) {
    float values[8];
    if (is_left) {
      const uvec4 quad = quad_of_row(row0 + r, block, part);
      for (uint j = 0; j < 8; ++j) values[j] = float(int(j % 2 == 0 ? quad[j / 2] << 16 : quad[j / 2]) >> 16);
    } else {
      const Unit codes = codes_of_column(column0 + r, block, part);
      for (uint j = 0; j < 8; ++j) values[j] = float(signed_byte((j < 4 ? codes.codes.x : codes.codes.y) >> (j % 4 * 8)));
      steps = vec4(steps.yzw, codes.scale), leasts = vec4(leasts.yzw, codes.offset);
    }
    for (uint j = 0; j < 8; ++j) gathered[j] = vec4(gathered[j].yzw, values[j]);
  }
  for (uint j = 0; j < 8; ++j) tile[(is_left ? 0 : right) + (part * 8 + j) * step + four] = gathered[j];
  if (is_left || part * 8 % unit != 0) return;
  column_steps[part * 8 / unit * column_fours + four] = steps;
  if (has_least) column_leasts[part * 8 / unit * column_fours + four] = leasts;
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
    [[dont_unroll]] for (uint job = own; job < 4 * (row_fours + column_fours); job += gl_WorkGroupSize.x) load(row0, column0, block, job);
    [[dont_unroll]] for (uint r = own; r < tile_rows; r += gl_WorkGroupSize.x) put_last(r, quad_of_row(row0 + r, block, 4));
    barrier();
    [[dont_unroll]] for (uint u = 0; u < units; ++u) {
      ivec4 sums[own_rows * width];
      vec4 part_sums[own_rows * width];
      for (uint i = 0; i < own_rows * width; ++i) sums[i] = ivec4(0);
      [[dont_unroll]] for (uint k0 = u * unit; k0 < (u + 1) * unit; k0 += exact) {
        for (uint i = 0; i < own_rows * width; ++i) part_sums[i] = vec4(0);
        [[dont_unroll]] for (uint k = k0; k < k0 + exact; ++k) {
          vec4 values[width];
          for (uint c = 0; c < width; ++c) values[c] = tile[right + (k * across + x) * width + c];
          for (uint r = 0; r < own_rows; r += 4) {
            const vec4 left = tile[k * row_fours + (y * own_rows + r) / 4];
            for (uint i = 0; i < 4; ++i)
              for (uint c = 0; c < width; ++c) part_sums[(r + i) * width + c] = fma(vec4(left[i]), values[c], part_sums[(r + i) * width + c]);
          }
        }
        if (exact < unit)
          for (uint i = 0; i < own_rows * width; ++i) sums[i] += ivec4(part_sums[i]);
      }
      for (uint i = 0; i < own_rows * width; ++i)
        add_products(u, y * own_rows + i / width, x * width + i % width, exact < unit ? vec4(sums[i]) : part_sums[i], totals[i]);
    }
    barrier();
  }
  for (uint r = 0; r < own_rows; ++r)
    for (uint c = 0; c < width; ++c) tile[((y * own_rows + r) * across + x) * width + c] = totals[r * width + c];
  barrier();
  store_tile(row0, column0);
}
