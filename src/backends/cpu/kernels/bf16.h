// Products of bf16 factors with f32 sums, for three sets of instructions: AMX tiles, AVX512-BF16, and plain loops that
// emulate the tiles. As in kernels.h, nothing here may define an inline function with external linkage.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace hearth::cpu {

inline constexpr int64_t bf16_rows = 32;   // most rows of a block
inline constexpr int64_t bf16_panel = 32;  // columns of a block; a narrow one has half as many

// A run of the summation index k over which each row of the left matrix is contiguous. Row r begins at
// half[r / 16] + (r % 16) · stride[r / 16]. All 16 rows of a half that has any must be readable; their contents are ignored.
struct Bf16Run {
  const uint16_t* half[2];
  int64_t stride[2];  // elements
  int64_t length;     // of k, a multiple of `depth`
};

// Where a block's sums are written: element (r, n) at c + (n / 16) · column_step + r · row_step + n % 16. All 16 rows of a half that has
// any are written.
struct Bf16Sums {
  float* c;
  int64_t row_step, column_step;
};

struct Bf16Kernels {
  const char* name;
  int64_t depth;   // k is padded with zeros to a multiple of it
  bool preferred;  // so much faster than f32 that it is the default

  // c (+)= Σ_k left[r][k] · b[k][n] for r < rows ≤ 32. b [k / 2][columns][2], with 32 columns if wide, else 16.
  // Factors are bf16, subnormals count as zero; sums are f32. A row's result depends only on its own factors.
  void (*block)(int64_t rows, bool wide, const Bf16Run* runs, int64_t count, const uint16_t* b, const Bf16Sums& sums, bool add);

  // Called before and after the blocks of a piece of work, on the thread that computes them.
  void (*begin)();
  void (*end)();

  double (*product_loop)(int64_t rounds);  // products in registers; returns the floating-point operations done
  int64_t rounds;                          // rounds that take some milliseconds
};

const Bf16Kernels& amx_tiles();
const Bf16Kernels& emulated_tiles();

}  // namespace hearth::cpu
