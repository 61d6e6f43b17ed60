#include "backends/cpu/kernels/integers.h"
#include "core/quantized/block_grids.h"

// The order matters, as in avx512.cpp.
#include "backends/cpu/kernels/simd_avx512.h"

#include "backends/cpu/kernels/functions.inl"

#include "backends/cpu/kernels/row_types.inl"

#include "backends/cpu/kernels/grid_types.inl"

#include "backends/cpu/kernels/integer_units.inl"

#include "backends/cpu/kernels/integer_columns.inl"

#include "backends/cpu/kernels/integers.inl"

namespace hearth::cpu {

const IntegerKernels& avx512_integers() {
  static constexpr IntegerKernels table = integers_named("avx512");
  return table;
}

}  // namespace hearth::cpu
