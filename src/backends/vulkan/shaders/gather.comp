#version 460
#extension GL_GOOGLE_include_directive : require
// y [M, C]: rows of x [R, C], in words of 1, 2 or 4 bytes. A row that x lacks is reported (Stream::report).
#include "types.glsl"

layout(local_size_x = 64) in;
struct Parameters {
  uint64_t x, rows, report, y;
  uint count, columns, all_rows;  // columns: words of a row
  uint word;
};
PARAMETERS;

void main() {
  p = parameters.values;
  const uint i = invocation();
  if (i >= p.count) return;
  const uint row = uint(Ints(p.rows).at[i / p.columns]);
  if (row >= p.all_rows) {
    report_row(p.report, 1, int(row), p.all_rows);
    return;
  }
  const uint from = row * p.columns + i % p.columns;
  if (p.word == 4) Words(p.y).at[i] = Words(p.x).at[from];
  else if (p.word == 2) Halves(p.y).at[i] = Halves(p.x).at[from];
  else Bytes(p.y).at[i] = Bytes(p.x).at[from];
}
