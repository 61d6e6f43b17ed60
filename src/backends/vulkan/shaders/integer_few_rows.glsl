// integer_product.comp's y = x wᵀ for at most four rows of x, divided as in few_rows.comp: each invocation of a group of 32 multiplies a block
// of 32 values of k. The units' products are added in order.
#extension GL_EXT_control_flow_attributes : require
#include "types.glsl"

#include "functions.glsl"

#include "epilogue.glsl"

layout(local_size_x = 128) in;
#include "outputs.glsl"

#include "integers.glsl"

const uint lanes = 32, groups = gl_WorkGroupSize.x / lanes, most_rows = 4;
const uint own_columns = 2;                  // rows of w that a group has
const uint columns = groups * own_columns;   // of a workgroup
const uint stride = lanes * units + 1;       // between products of a row and column

// In turn: while some invocations add products, the others compute the next ones.
shared float products[2 * columns * most_rows * stride], totals[columns * most_rows];

#ifdef BYTE_DOTS
#include "dots.glsl"

int code_sum(uvec2 codes) { return sum_of_bytes(codes.x) + sum_of_bytes(codes.y); }
// Σ code · q of eight values, whose codes have the sum code_sum.
int sum_of_eight(uvec4 quad, uvec2 codes, int code_sum) {
  return (signed_dot(quad.x, codes.x) + signed_dot(quad.y, codes.y)) * 256 + signed_dot(quad.z, codes.x) + signed_dot(quad.w, codes.y) + 128 * code_sum;
}
#else
int code_sum(uvec2 codes) { return 0; }
int sum_of_eight(uvec4 quad, uvec2 codes, int code_sum) {
  int sum = 0;
  for (uint j = 0; j < 8; ++j)
    sum += (int(j % 2 == 0 ? quad[j / 2] << 16 : quad[j / 2]) >> 16) * signed_byte((j < 4 ? codes.x : codes.y) >> (j % 4 * 8));
  return sum;
}
#endif

void main() {
  p = parameters.values;
  if (workgroup() >= workgroups_end) return;
  const uint own = gl_LocalInvocationID.x, lane = own % lanes, group = own / lanes, blocks = p.depth / 32, rows = p.rows, width = all_columns();
  const uint64_t x = p.x, grids = p.grids;
  // Columns and blocks that do not exist are read as the last ones.
  uint64_t weights[own_columns];
  for (uint c = 0; c < own_columns; ++c)
    weights[c] = weight_row(row_of_column(min(workgroup() * columns + group * own_columns + c, width - 1)));
  precise float total = 0;
  [[dont_unroll]] for (uint block0 = 0, turn = 0; block0 < blocks; block0 += lanes, turn ^= 1) {
    const uint block = min(block0 + lane, blocks - 1), first = turn * columns * most_rows * stride;
    const uint to = first + group * own_columns * most_rows * stride + lane * units;
    [[dont_unroll]] for (uint u = 0; u < units; ++u) {
      int sums[most_rows * own_columns], code_sums[own_columns];
      Unit codes[own_columns];
      for (uint i = 0; i < most_rows * own_columns; ++i) sums[i] = 0;
      [[dont_unroll]] for (uint part = u * unit / 8; part < (u + 1) * unit / 8; ++part) {
        BOTH_AT_ONCE for (uint c = 0; c < own_columns; ++c) {
          const Unit next = unit_of(w_type, weights[c], block * 32 + part * 8, grids);
          for (uint i = 1; i < own_columns; ++i) codes[i - 1] = codes[i];
          codes[own_columns - 1] = next;
        }
        for (uint c = 0; c < own_columns; ++c) code_sums[c] = code_sum(codes[c].codes);
        for (uint r = 0; r < most_rows; ++r) {
          if (r >= rows) break;
          const uvec4 quad = Quads(x).at[quad_at(true, rows, blocks, r, block, part)];
          for (uint c = 0; c < own_columns; ++c) sums[r * own_columns + c] += sum_of_eight(quad, codes[c].codes, code_sums[c]);
        }
      }
      for (uint r = 0; r < most_rows; ++r) {
        if (r >= rows) break;
        const uvec4 last = Quads(x).at[quad_at(true, rows, blocks, r, block, 4)];
        const float s = has_least ? scaled_sum(last, u) : 0.0;
        for (uint c = 0; c < own_columns; ++c) {
          const float product = unit_product(float(sums[r * own_columns + c]), codes[c].scale, codes[c].offset, scale_of(last), s);
          products[to + (c * most_rows + r) * stride + u] = block0 + lane < blocks ? product : 0.0;
        }
      }
    }
    barrier();
    if (own < columns * rows) {
      const uint from = first + (own / rows * most_rows + own % rows) * stride;
      [[dont_unroll]] for (uint i = 0; i < min(lanes, blocks - block0) * units; i += 8) {  // what does not exist is zero
        float eight[8];
        for (uint j = 0; j < 8; ++j) eight[j] = products[from + i + j];
        for (uint j = 0; j < 8; ++j) total += eight[j];
      }
    }
  }
  if (own < columns * rows) totals[own] = total;
  barrier();
  const uint outputs = columns / (1 + p.gated);
  if (own >= outputs * rows) return;
  const uint row = own / outputs, n = workgroup() * outputs + own % outputs, both = (1 + p.gated) * (own % outputs);
  if (n < p.outputs) store_output(row, n, totals[both * rows + row], totals[(both + p.gated) * rows + row]);
}
