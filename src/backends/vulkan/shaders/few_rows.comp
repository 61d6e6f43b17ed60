#version 460
#extension GL_GOOGLE_include_directive : require
// product.comp's y = x wᵀ for at most `most_rows` rows of x, which wait for w to arrive from memory: each invocation of a group multiplies
// its own chunk of 32 values of k, so that together they read a row of w as it lies in memory. The chunks' sums are added in order as
// tile.glsl adds them: a row has the same bits here and there.
#extension GL_EXT_control_flow_attributes : require
#include "types.glsl"

#include "functions.glsl"

#include "epilogue.glsl"

layout(local_size_x = 128) in;
layout(constant_id = 0) const uint most_rows = 4;
layout(constant_id = 1) const uint lanes = 32;  // invocations of a group
#include "outputs.glsl"

#include "weights.glsl"

const uint chunk = 32, groups = gl_WorkGroupSize.x / lanes;
const uint own_columns = 2;                         // rows of w that a group has
const uint columns = groups * own_columns;          // of a workgroup: of a p.gated unit the value of an output, then its gate
const uint stride = chunk / 4 + 1;                  // between chunks of x in shared memory

shared vec4 left[most_rows * lanes * stride];
shared float sums[columns * most_rows * lanes], totals[columns * most_rows];

void main() {
  p = parameters.values;
  if (workgroup() >= workgroups_end) return;
  const uint own = gl_LocalInvocationID.x, lane = own % lanes, group = own / lanes, all = all_columns();
  if (own < columns * p.rows) totals[own] = 0;
  [[dont_unroll]] for (uint k0 = 0; k0 < p.depth; k0 += lanes * chunk) {
    [[dont_unroll]] for (uint i = own; i < p.rows * lanes * chunk / 4; i += gl_WorkGroupSize.x) {
      const uint r = i / (lanes * chunk / 4), k = i % (lanes * chunk / 4);
      vec4 four = vec4(0);
      [[dont_unroll]] for (uint j = 0; j < 4; ++j)
        four = vec4(four.yzw, k0 + 4 * k + j < p.depth ? read(p.x_type, p.x, r * p.depth + k0 + 4 * k + j) : 0.0);
      if (p.rounds != 0) four = as_bf16(four);  // w is bf16 or of 8-bit floats, which bf16 represents
      left[(r * lanes + k / (chunk / 4)) * stride + k % (chunk / 4)] = four;
    }
    barrier();
    [[dont_unroll]] for (uint c = group * own_columns; c < (group + 1) * own_columns; ++c) {
      const uint column = workgroup() * columns + c;
      float row_sums[most_rows];
      for (uint r = 0; r < most_rows; ++r) row_sums[r] = 0;
      if (column < all) {
        const uint64_t w = weight_row(row_of_column(column));
        [[dont_unroll]] for (uint k = 0; k < chunk; k += 8) {
          if (k0 + lane * chunk + k >= p.depth) break;
          float values[8];
          read_weights(w, k0 + lane * chunk + k, values);
          for (uint r = 0; r < most_rows; ++r) {
            if (r >= p.rows) break;
            const vec4 a = left[(r * lanes + lane) * stride + k / 4], b = left[(r * lanes + lane) * stride + k / 4 + 1];
            for (uint j = 0; j < 4; ++j) row_sums[r] = fma(a[j], values[j], row_sums[r]);
            for (uint j = 0; j < 4; ++j) row_sums[r] = fma(b[j], values[j + 4], row_sums[r]);
          }
        }
      }
      for (uint r = 0; r < most_rows; ++r) sums[(c * most_rows + r) * lanes + lane] = row_sums[r];
    }
    barrier();
    if (own < columns * p.rows) {
      float total = totals[own];
      [[dont_unroll]] for (uint l = 0; l < min(lanes, (p.depth - k0 + chunk - 1) / chunk); ++l)
        total += sums[(own / p.rows * most_rows + own % p.rows) * lanes + l];
      totals[own] = total;
    }
  }
  barrier();
  const uint width = columns / (1 + p.gated);
  if (own >= width * p.rows) return;
  const uint row = own / width, n = workgroup() * width + own % width, first = (1 + p.gated) * (own % width);
  if (n < p.outputs) store_output(row, n, totals[first * p.rows + row], totals[(first + p.gated) * p.rows + row]);
}
