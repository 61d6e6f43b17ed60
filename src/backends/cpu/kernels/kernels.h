// The kernels of one instruction set: a table of functions over plain pointers. Each set is one translation unit (avx2.cpp,
// avx512.cpp) that compiles the same sources with its own simd header. Neither this file nor what those include may define an
// inline function with external linkage: the linker could keep the copy compiled for a newer CPU.
//
// All kernels compute in f32. Pointers need no alignment beyond that of their element; n ≥ 0 is any count.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace hearth::cpu {

inline constexpr int64_t max_tile_rows = 14;
inline constexpr int64_t dot_chunk = 2048, most_dots = 32, turned_gap = 16;

// A run of the summation index k over which each row of the left matrix is contiguous.
struct Segment {
  const float* row[max_tile_rows];
  int64_t length;
};

// Which part of its sums a tile of dots computes: the first or last of a chunk, and whether its chunk is the first.
struct DotEnds {
  bool first, last, first_chunk;
};

// hearth::Activation in this layer (act_of in cpu_class.h converts).
enum class Act { none, silu, gelu, gelu_tanh, quick_gelu, relu, sigmoid, tanh, softplus, squared_relu };

// y[r][n] = factor[r][n] · act(alpha · scale[n] · acc[r][n] + bias[n] + per_image[r][n]) + residual[r][n]
// With gates, the second register of a row of acc holds the gates of the first, whose scale, bias and per_image are `gates` elements
// further: value · act(gate) replaces act(…).
struct TileEpilogue {
  float alpha = 1;
  Act activation = Act::none;
  int64_t gates = 0;                        // 0: none
  const float* scale = nullptr;             // [columns], may be null
  const float* bias = nullptr;              // [columns], may be null
  const float* const* per_image = nullptr;  // per row a pointer to [columns], may be null
  const float* const* factor = nullptr;     // per row a pointer to [columns], may be null
  const float* residual = nullptr;          // [rows][residual_stride], may be null
  int64_t residual_stride = 0;
  float* y = nullptr;  // [rows][y_stride]
  int64_t y_stride = 0;
};

// Last step of a norm over a row:  y = (x̂·gamma + beta)·(1 + scale) + shift, all [n], each may be null.
struct RowAffine {
  const float *gamma = nullptr, *beta = nullptr, *scale = nullptr, *shift = nullptr;
};

// Rows of weights as in files: single values, or blocks (core/dtype.h).
// clang-format off
enum RowType : int {
  row_f32, row_f16, row_bf16, row_f8_e4m3, row_f8_e5m2,
  row_q4_0, row_q4_1, row_q5_0, row_q5_1, row_q8_0, row_q2_k, row_q3_k, row_q4_k, row_q5_k, row_q6_k, row_iq4_nl, row_iq4_xs, row_mxfp4,
  row_iq2_xxs, row_iq2_xs, row_iq2_s, row_iq3_xxs, row_iq3_s, row_iq1_s, row_iq1_m,
};
// clang-format on

// Backend::selective_scan for some channels: pointers to the first of them, strides between rows.
struct SelectiveScan {
  int64_t tokens, states, channels;
  const float *x, *dt;  // [tokens][channels]
  int64_t x_stride, dt_stride;
  const float *b, *c;  // [tokens][states]
  int64_t b_stride, c_stride;
  const float* a;  // [states][channels]
  float* state;    // the same
  int64_t state_stride;
  const float* d;  // [channels], may be null
  float* y;        // [tokens][channels]
  int64_t y_stride;
  float* scratch;  // 2 · states registers
};

// Backend::state_space_scan for `columns` elements of a head, at most two registers of them.
struct StateSpaceScan {
  int64_t tokens, states, columns;
  const float* x;  // [tokens][columns]
  int64_t x_stride;
  const float *step, *decay;  // Δ and exp(Δ · a) of token t at t · step_stride
  int64_t step_stride;
  const float *b, *c;  // [tokens][states]
  int64_t b_stride, c_stride;
  float* state;  // [states][columns]
  int64_t state_stride;
  float d;
  float* y;  // [tokens][columns]
  int64_t y_stride;
};

// Backend::delta_rule for some elements of v of one head: at most four registers of them.
struct DeltaRuleScan {
  enum class Kind { plain, beta, ab };
  Kind kind;
  bool reads_before;
  int64_t tokens, keys, columns;
  const float *q, *k;  // [tokens][keys]
  int64_t k_stride;
  const float* v;  // [tokens][columns]
  int64_t v_stride;
  const float* decay;  // exp of the logarithm, at token · decay_stride + key · decay_step
  int64_t decay_stride, decay_step;
  const float* beta;  // token · beta_stride
  int64_t beta_stride;
  const float *a, *b;  // [tokens][keys]
  int64_t a_stride;
  float* state;  // [keys][columns]
  int64_t state_stride;
  float* y;  // [tokens][columns]
  int64_t y_stride;
  float* scratch;  // keys · 4 registers
};

// A head's queries over all its keys, and some columns of its values.
struct LinearAttention {
  int64_t queries, tokens, keys, columns;  // columns: at most 4 registers
  const float* q;                          // [queries][keys]
  int64_t q_stride;
  const float* k;  // [tokens][keys]
  int64_t k_stride;
  const float* v;  // [tokens][columns]
  int64_t v_stride;
  float eps;
  float* y;  // [queries][columns]
  int64_t y_stride;
  float* scratch;  // 2 · keys · 4 registers, and 2 · keys
};

struct Bf16Kernels;     // bf16.h
struct IntegerKernels;  // integers.h

struct Kernels {
  const char* name;
  int64_t lanes;      // f32 values in a register
  int64_t tile_rows;  // most rows of a product tile
  int64_t panel;      // columns of a product tile: two registers

  // --- products ----------------------------------------------------------------------------------------------------
  // c[r][n] (+)= Σ_k row[r][k] · b[k][n] for r < rows ≤ tile_rows. The sum starts at zero, runs over k in order with one
  // fused multiply-add each, and is then added to c or stored: an element depends only on its own operands.
  // wide: b [K][panel]; else b [K][lanes], with only `lanes` columns computed. c has a row stride of `panel`.
  void (*tile)(int64_t rows, bool wide, const Segment* segments, int64_t count, const float* b, float* c, bool add);
  // acc [rows][panel]
  void (*epilogue)(const float* acc, int64_t rows, int64_t columns, const TileEpilogue& e);

  // --- products with rows as in files (rows.cpp) ---------------------------------------------------------------------
  // All sum in the same order: in each chunk of k, lane l of a register sums the products of k = l, lanes + l, 2·lanes + l …
  // with one fused multiply-add each, then lane_sums adds up the lanes; chunks are added in order.
  int64_t dot_rows, dot_columns;  // of a tile
  // `rows` rows of x, x_stride apart, → [k / lanes][dot_rows][lanes]; zeros beyond rows and n.
  void (*pack_left)(const float* x, int64_t x_stride, int64_t rows, int64_t n, float* to);
  // A tile's products over `steps` registers of k; w [dot_columns][w_stride]. Within a chunk the sums per lane are kept in
  // lanes [dot_rows · dot_columns][lanes]; at its end sums [dot_rows][dot_columns] (+)= their totals. Room for most_dots.
  void (*dot_tile)(const float* left, const float* w, int64_t w_stride, int64_t steps, float* lanes, const DotEnds& ends, float* sums);
  // y[n] = Σ_k x[k]·w[n][k] for consecutive rows
  void (*row_dots)(RowType type, const float* x, const void* w, int64_t rows, int64_t k, float* y);
  // n values from the start of a block, exactly as f32
  void (*widen_row)(RowType type, const void* w, int64_t n, float* y);

  // The same sums, bit-identical, for many rows of x: rows of w are the lanes. A chunk of n values of some rows is transposed into columns
  // in `lanes` runs of steps = ⌈n / lanes⌉, each with what one lane sums above, in the order of lane_sums; zeros beyond rows and n. A gap
  // follows each run of w: runs as long as a power of two would fall into the same cache sets.
  void (*turn_left)(const float* x, int64_t x_stride, int64_t rows, int64_t n, float* to);  // [run][steps][tile_rows]
  // → [run][steps · panel + turned_gap]
  void (*turn_right)(RowType type, const void* w, int64_t row_bytes, int64_t rows, int64_t n, float* to);
  // sums [rows][panel] (+)= Σ left[k]·right[k] over a chunk. Prefetches the bytes that are needed next into L2.
  void (*turned_tile)(int64_t rows, const float* left, const float* right, int64_t steps, float* sums, bool add, const void* next,
                      int64_t next_bytes);

  // Rows of bf16, w_stride elements apart, in the layout of bf16.h: n values of k → [depth / 2][width][2], zeros beyond rows and n.
  void (*pair_rows)(const void* w, int64_t w_stride, int64_t rows, int64_t n, int64_t width, int64_t depth, uint16_t* to);

  // --- Winograd F(4×4, 3×3) ----------------------------------------------------------------------------------------
  // A patch of 6×6 pixels (each a pointer to its channels, null for zeros) → v[point][channels], 36 points v_stride apart.
  void (*winograd_input)(const float* const* pixels, int64_t channels, float* v, int64_t v_stride);
  // Nine taps, tap_stride apart, of `count` values (a multiple of `lanes`) → u[point][count], u_stride apart.
  void (*winograd_weight)(const float* g, int64_t tap_stride, int64_t count, float* u, int64_t u_stride);
  // 36 products of one patch, m_stride apart, → its 4×4 outputs y [16][panel]; `wide` as in `tile`.
  void (*winograd_output)(const float* m, int64_t m_stride, bool wide, float* y);

  // --- depthwise convolution ---------------------------------------------------------------------------------------
  // y[r][n] = Σ_t pixels[r · taps + t][n] · w[t][n] for 1 to 4 rows, each sum in the order of t
  void (*depthwise)(const float* const* pixels, int64_t taps, int64_t rows, const float* w, int64_t w_stride, int64_t n, float* y,
                    int64_t y_stride);

  // --- attention: lanes are queries --------------------------------------------------------------------------------
  // One block of keys of the online softmax. s [keys][panel] scores in, exp(s − m') out; m, l [panel] running maximum and
  // sum, updated; the running output o [rows][panel] is multiplied by exp(m − m'). m is finite, scores may be −∞.
  void (*softmax_block)(float* s, int64_t keys, float* m, float* l, float* o, int64_t rows);

  // The same with a row per query: s [rows][s_stride] scores in, weights [rows][s_stride] exp(s − m') in bf16 out for the first
  // visible[r] of `keys` keys (a multiple of 16), zeros for the rest. o [rows][columns] is multiplied by exp(m − m'). m is stored
  // multiplied by log₂ e, and is finite.
  void (*softmax_rows)(const float* s, int64_t s_stride, int64_t rows, int64_t keys, const int64_t* visible, float* m, float* l, float* o,
                       int64_t columns, uint16_t* weights);

  // o [rows][panel] += Σ_k v[r][k] · s[k][panel], with key k only in the lanes whose weight is not zero. A hidden key is left out of the
  // sum: 0 · ∞ would be NaN.
  void (*seen_rows)(const float* s, int64_t keys, const float* v, int64_t v_stride, float* o, int64_t rows);

  // x = cap · tanh(x / cap)
  void (*soft_cap)(float* x, int64_t n, float cap);

  // --- attention to a KV cache: lanes are keys ------------------------------------------------------------------------
  // A panel of rows of a KV cache, n values each in f32, f16, bf16 or q8_0; zeros for null.  → the rows as columns, [n][panel]
  void (*pack_keys)(RowType type, const void* const* rows, int64_t n, float* to);
  // → panels of columns, `step` apart: [n / panel][panel rows][panel], zeros beyond n
  void (*pack_values)(RowType type, const void* const* rows, int64_t n, float* to, int64_t step);
  // A row of scores in panels of keys, `stride` apart: s in, exp(s − m) out, for keys first … last − 1, of which there is at least one;
  // zeros for the others. m is the largest of those scores, l the sum of the outputs.
  void (*softmax_part)(float* s, int64_t stride, int64_t first, int64_t last, int64_t panels, float* m, float* l);
  // Merges the softmax of some keys (m, l and the sum o [n] of values with such weights) with that of further keys.
  void (*merge_part)(float* m, float* l, float* o, float part_m, float part_l, const float* part_o, int64_t n);

  // --- norms -------------------------------------------------------------------------------------------------------
  // Mean and Σ(x − mean)² of n values, two passes.
  void (*moments)(const float* x, int64_t n, float* mean, float* squares);
  // The same for each column of x [rows][columns] (dense).
  void (*column_moments)(const float* x, int64_t rows, int64_t columns, float* mean, float* squares);
  // x̂[n] = (x[n] − mean) · rstd
  void (*normalize)(const float* x, int64_t n, float mean, float rstd, const RowAffine& affine, float* y);
  // Σ x²
  float (*squares)(const float* x, int64_t n);
  // y[r][c] = act((x[r][c] − mean[c]) · factor[c] + beta[c]), dense
  void (*normalize_columns)(const float* x, int64_t rows, int64_t columns, const float* mean, const float* factor, const float* beta,
                            Act activation, float* y);

  // --- pointwise ---------------------------------------------------------------------------------------------------
  void (*activate)(const float* x, int64_t n, Act activation, float* y);
  void (*scale)(const float* x, float factor, int64_t n, float* y);       // y = factor · x
  void (*add_scaled)(const float* x, float factor, int64_t n, float* y);  // y += factor · x, two roundings
  void (*keep_larger)(const float* x, int64_t n, float* y);               // y = the larger of both, NaN if either is NaN
  void (*multiply)(const float* a, const float* b, int64_t n, float* y);
  // y = x·factor + added; either may be null
  void (*affine)(const float* x, int64_t n, const float* factor, const float* added, float* y);
  void (*exp)(const float* x, int64_t n, float* y);

  // --- moving ------------------------------------------------------------------------------------------------------
  void (*widen_f16)(const void* x, int64_t n, float* y);
  void (*widen_bf16)(const void* x, int64_t n, float* y);
  void (*narrow_f16)(const float* x, int64_t n, void* y);      // to nearest even
  void (*narrow_bf16)(const float* x, int64_t n, void* y);     // to nearest even, NaN stays NaN
  void (*round_bf16)(const float* x, int64_t n, uint16_t* y);  // for factors of a product: the same, but subnormals may become zero
  // y[c][r] = factor · x[r][c]
  void (*transpose)(const float* x, int64_t x_stride, int64_t rows, int64_t columns, float factor, float* y, int64_t y_stride);
  // y[c][r] = x[r][c], bit by bit, of elements of 16 or 32 bits
  void (*transpose_16)(const uint16_t* x, int64_t x_stride, int64_t rows, int64_t columns, uint16_t* y, int64_t y_stride);
  void (*transpose_32)(const uint32_t* x, int64_t x_stride, int64_t rows, int64_t columns, uint32_t* y, int64_t y_stride);
  // The first 2·half values of x rotated: (a·cos − b·sin, b·cos + a·sin) for pairs that are `half` apart, or neighbors.
  void (*turn_halves)(const float* x, const float* cosine, const float* sine, int64_t half, float* y);
  void (*turn_neighbors)(const float* x, const float* cosine, const float* sine, int64_t half, float* y);
  void (*encode_q8_0)(const float* x, int64_t n, void* y);  // n a multiple of 32; the bits of encode_blocks (core/quantized/blocks.h)

  // --- recurrences -------------------------------------------------------------------------------------------------
  void (*selective_scan)(const SelectiveScan& s);
  void (*state_space_scan)(const StateSpaceScan& s);
  // x = the larger of `least` and the smaller of `most` and x; NaN stays NaN
  void (*clamp)(float* x, int64_t n, float least, float most);

  // --- delta rule --------------------------------------------------------------------------------------------------
  void (*delta_rule)(const DeltaRuleScan& s);
  // y[n] = base[n] + (Σ_i q[i]·k[i]·u[i]) · v[n], i < keys
  void (*add_weighted)(const float* base, const float* q, const float* k, const float* u, int64_t keys, const float* v, int64_t n,
                       float* y);
  // tokens · [n] of x, log_a and y, `stride` apart; state [n]
  void (*gated_scan)(const float* x, const float* log_a, int64_t tokens, int64_t n, int64_t stride, bool starts, float* state, float* y);

  // --- linear attention --------------------------------------------------------------------------------------------
  void (*linear_attention)(const LinearAttention& a);

  // --- ceilings ----------------------------------------------------------------------------------------------------
  double (*fma_loop)(int64_t rounds);            // multiply-adds in registers; returns the floating-point operations done
  void (*read_loop)(const float* x, int64_t n);  // reads n values, rounded down to a multiple of 64

  const Bf16Kernels* bf16 = nullptr;         // products of bf16 factors; null if the instruction set has none
  const IntegerKernels* integers = nullptr;  // products with the stored integers of block types
};

// Integer products use dot-product instructions if the CPU has them; results are bit-identical.
const Kernels& avx2_kernels();
const Kernels& avx512_kernels();
const Kernels& avx512bf16_kernels();  // AVX-512 with bf16 dot products
const Kernels& amx_kernels();         // AVX-512 with bf16 tiles

}  // namespace hearth::cpu
