#include "backends/cpu/kernels/integers.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/processor.h"
#include "core/quantized/block_grids.h"

// The order matters: each file uses definitions of those before it.
#include "backends/cpu/kernels/simd_avx2.h"

#include "backends/cpu/kernels/functions.inl"

#include "backends/cpu/kernels/row_types.inl"

#include "backends/cpu/kernels/grid_types.inl"

#include "backends/cpu/kernels/cached_attention.inl"
#include "backends/cpu/kernels/ceiling.inl"
#include "backends/cpu/kernels/delta_rule.inl"
#include "backends/cpu/kernels/depthwise.inl"
#include "backends/cpu/kernels/linear_attention.inl"
#include "backends/cpu/kernels/pointwise.inl"
#include "backends/cpu/kernels/product.inl"
#include "backends/cpu/kernels/recurrence.inl"
#include "backends/cpu/kernels/reduce.inl"
#include "backends/cpu/kernels/rows.inl"
#include "backends/cpu/kernels/turned.inl"
#include "backends/cpu/kernels/winograd.inl"

#include "backends/cpu/kernels/table.inl"

namespace hearth::cpu {

const Kernels& avx2_kernels() {
  static const Kernels table = [] {
    Kernels k = table_named("avx2");
    k.integers = processor_has_avxvnni() ? &avxvnni_integers() : &avx2_integers();
    return k;
  }();
  return table;
}

}  // namespace hearth::cpu
