// Products of rows of block types with their stored integers: the left side is rounded to 16-bit integers with a scale per 32 values,
// and the sums of a unit of values are exact. Several instruction sets implement them, bit-identically for the same number of lanes.
// As in kernels.h, nothing here may define an inline function with external linkage.
#pragma once

#include "backends/cpu/kernels/kernels.h"

namespace hearth::cpu {

// A value of x is d · q. d is the largest magnitude of its block of 32, divided by 32767, and |q| ≤ 32767: the error is at most d / 2. A
// block that contains NaN or infinity has d = NaN and q = 0; one whose largest magnitude is below 2⁻¹⁰⁰ has d = 0.
//
// A weight is step · code + least (codes of iq1_s and iq1_m are 8 · the value of the entry, plus or minus 1), with step and least shared by
// a unit of 32 values (16 in q2_k, q3_k, q6_k, iq2_xs, iq2_s and iq1_m). With I = Σ code · q over a unit and S = Σ q in exact integers, a
// product is the sum over the units in order, each added with one rounding, of
//   float(I) · (step · d) + (float(S) · d) · least,  the latter by a fused multiply-add only for types with a least value.
struct IntegerKernels {
  const char* name;
  int64_t most_rows;  // rows of x in a tile: multiples of rows_step up to it
  int64_t rows_step;

  // --- one row of x: lanes run along the stored rows of w --------------------------------------------------
  // x [k] → q, d and s (S · d for types with a least value, else the correction that S contributes), in the form that `row_dots` expects;
  // room for k rounded up to integer_stride, and d and s of its units.
  void (*quantize_row)(RowType type, const float* x, int64_t k, int16_t* q, float* d, int32_t* s);
  // y[n] for consecutive rows of w. `next` is what will be read after them, or null: as many bytes of it are prefetched.
  void (*row_dots)(RowType type, const int16_t* q, const float* d, const int32_t* s, const void* w, int64_t rows, int64_t k, float* y,
                   const void* next);

  // --- many rows of x: lanes are rows of w ------------------------------------------------------------------------------
  // A tile of `height` rows of x. Pairs of k: of four values in order, the first and the third, then the second and the fourth.
  // `count` rows of x, x_stride apart, of n values, n a multiple of 32 → q [n / 2][height][2], d and s = S · d [n / unit][height]; zeros
  // beyond count.
  void (*pack)(const float* x, int64_t x_stride, int64_t count, int64_t height, int64_t n, int64_t unit, int16_t* q, float* d, float* s);
  // n values (whole blocks) of `count` rows of w, row_bytes apart → codes [n / 2][panel][2], step and least
  // [n / unit][panel]; steps and least values of zero beyond count.
  void (*widen)(RowType type, const void* w, int64_t row_bytes, int64_t count, int64_t n, int16_t* codes, float* step, float* least);
  // sums [height][panel] += the products of `units` units
  void (*tile)(RowType type, int64_t height, const int16_t* q, const float* d, const float* s, const int16_t* codes, const float* step,
               const float* least, int64_t units, float* sums);
};

inline constexpr int64_t integer_stride = 512;  // most values that row_dots processes at a time
constexpr int64_t integer_unit(RowType type) {
  switch (type) {
    case row_q2_k:
    case row_q3_k:
    case row_q6_k:
    case row_iq2_xs:
    case row_iq2_s:
    case row_iq1_m: return 16;
    default: return 32;
  }
}

const IntegerKernels& avx2_integers();
const IntegerKernels& avxvnni_integers();  // AVX2 with 16-bit dot products
const IntegerKernels& avx512_integers();
const IntegerKernels& avx512vnni_integers();  // AVX-512 with 16-bit dot products

}  // namespace hearth::cpu
