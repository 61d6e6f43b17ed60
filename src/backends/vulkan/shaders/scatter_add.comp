#version 460
#extension GL_GOOGLE_include_directive : require
// y[rows[m]] += factors[m] · x[m], in the order of m: each invocation has a column.
#include "types.glsl"

layout(local_size_x = 64) in;
struct Parameters {
  uint64_t x, rows, report, factors, y;  // factors 0: ones
  uint count, columns, all_rows;
  uint x_type;
};
PARAMETERS;

void main() {
  p = parameters.values;
  const uint c = invocation();
  if (c >= p.columns) return;
  for (uint m = 0; m < p.count; ++m) {
    const uint row = uint(Ints(p.rows).at[m]);
    if (row >= p.all_rows) {
      report_row(p.report, 2, int(row), p.all_rows);
      continue;
    }
    precise const float product = (p.factors != 0 ? read_f32(p.factors, m) : 1.0) * read(p.x_type, p.x, m * p.columns + c);
    Floats(p.y).at[row * p.columns + c] += product;
  }
}
