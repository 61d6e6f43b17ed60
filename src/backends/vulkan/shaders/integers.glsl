// Products of the stored integers of a weight (docs/numerics.md). A unit of it shares a step and, in some types, a lowest value. With I =
// Σ code · q over a unit and S = Σ q, in exact integers, a product is the sum over the units of a row, in order, of
//   float(I) · (step · d) + (float(S) · d) · least.
// The includer has the parameters of outputs.glsl, and the type of w in STORED.
#include "quads.glsl"

#include "stored.glsl"

const uint w_type = STORED;
const uint unit = w_type == Q2_K || w_type == Q3_K || w_type == Q6_K || w_type == IQ2_XS || w_type == IQ2_S || w_type == IQ1_M ? 16 : 32;
const uint units = 32 / unit;  // of a block of x
const bool has_least = w_type == Q4_1 || w_type == Q5_1 || w_type == Q2_K || w_type == Q4_K || w_type == Q5_K;

uint64_t weight_row(uint row) { return p.w + uint64_t(row) * row_bytes(w_type, p.depth); }

// d of a block of x, and float(S) · d of its unit u; `last`: part 4 of the block.
float scale_of(uvec4 last) { return uintBitsToFloat(last[0]); }
float scaled_sum(uvec4 last, uint u) {
  precise const float sum = float(int(unit == 32 ? last[1] + last[2] : last[1 + u])) * scale_of(last);
  return sum;
}

// The product of a unit. whole: float(I).
float unit_product(float whole, float step, float least, float d, float s) {
  precise const float scale = step * d;
  precise float product = whole * scale;
  if (has_least) product = fma(s, least, product);
  return product;
}
