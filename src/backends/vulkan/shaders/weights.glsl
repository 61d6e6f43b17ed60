// Rows of a product's weight, of any type. The includer has the parameters w, depth, grids, plain_type (the type if it is a float) and
// aligned (rows of plain floats begin at multiples of 16 bytes and are whole eights).
#ifdef STORED  // the type in this variant of the shader, which is not a plain float
#include "stored.glsl"
const uint w_type = STORED;
#else
#define w_type p.plain_type
#endif

uint64_t weight_row(uint row) {
#ifdef STORED
  return p.w + uint64_t(row) * row_bytes(w_type, p.depth);
#else
  return p.w + uint64_t(row) * (p.depth * (w_type == F32 ? 4 : 2));
#endif
}

// Values k … k + 7 of a row; zeros beyond its end. k is a multiple of 8.
void read_weights(uint64_t row, uint k, out float values[8]) {
#ifdef STORED
  if (w_type < Q4_0) {
    for (uint j = 0; j < 8; ++j) values[j] = 0;
    [[dont_unroll]] for (uint j = 0; j < 8; ++j) append(values, k + j < p.depth ? stored(w_type, row, k + j, p.grids) : 0.0);
  } else {
    const Unit unit = unit_of(w_type, row, k, p.grids);
    for (uint j = 0; j < 8; ++j) values[j] = value_of(unit, j);
  }
#else
  read_eight(w_type, row, k, p.depth - k, p.aligned != 0, values);
#endif
}
