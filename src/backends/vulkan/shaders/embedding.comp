#version 460
#extension GL_GOOGLE_include_directive : require
// Rows of a table of any dtype.
#include "types.glsl"

#ifdef STORED
#include "stored.glsl"
#endif

layout(local_size_x = 64) in;
#ifdef STORED  // the type of the table in this variant of the shader, which is not a plain float
const uint table_type = STORED;
#else
#define table_type p.plain_type
#endif
struct Parameters {
  uint64_t ids, table, y, grids;
  uint count, columns;
  uint plain_type, y_type;
};
PARAMETERS;

void main() {
  p = parameters.values;
  const uint i = invocation();
  if (i >= p.count) return;
  const uint id = uint(Ints(p.ids).at[i / p.columns]), column = i % p.columns;
#ifdef STORED
  write(p.y_type, p.y, i, stored(table_type, p.table + uint64_t(id) * row_bytes(table_type, p.columns), column, p.grids));
#else
  write(p.y_type, p.y, i, read(table_type, p.table + uint64_t(id) * (p.columns * (table_type == F32 ? 4 : 2)), column));
#endif
}
