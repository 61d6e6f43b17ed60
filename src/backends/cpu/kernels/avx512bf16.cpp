// bf16 products with AVX512-BF16's dot product of pairs, and the conversions of that instruction set.
#include "backends/cpu/kernels/bf16.h"
#include "backends/cpu/kernels/kernels.h"
#include "core/quantized/block_grids.h"

// The order matters, as in avx512.cpp.
#include "backends/cpu/kernels/simd_avx512.h"

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
namespace {

using Pairs = __m512bh;  // 16 pairs

HEARTH_INLINE Pairs load_pairs(const uint16_t* p) { return reinterpret_cast<Pairs>(_mm512_loadu_si512(p)); }
HEARTH_INLINE Pairs set_pairs(const uint16_t* p) {
  int pair;
  __builtin_memcpy(&pair, p, sizeof pair);
  return reinterpret_cast<Pairs>(_mm512_set1_epi32(pair));
}

// `rows` rows of a block, starting at `first`.
template <int rows, int columns>
void pair_block(int64_t first, const Bf16Run* run, int64_t count, const uint16_t* b, const Bf16Sums& sums, bool add) {
  V acc[rows][columns];
  const auto at = [&](int r, int j) { return sums.c + j * sums.column_step + (first + r) * sums.row_step; };
  unroll<rows>([&](auto r) { unroll<columns>([&](auto j) { acc[r][j] = add ? load(at(r, j)) : zero(); }); });
  for (; count > 0; --count, ++run) {
    const uint16_t* a[rows];
    unroll<rows>([&](auto r) {
      const int64_t row = first + r, half = row / 16;
      a[r] = run->half[half] + row % 16 * run->stride[half];
    });
    for (int64_t k = 0, n = run->length; k < n; k += 2, b += columns * 32) {
      Pairs right[columns];
      unroll<columns>([&](auto j) { right[j] = load_pairs(b + j * 32); });
      unroll<rows>([&](auto r) {
        const Pairs left = set_pairs(a[r] + k);
        unroll<columns>([&](auto j) { acc[r][j] = _mm512_dpbf16_ps(acc[r][j], left, right[j]); });
      });
    }
  }
  unroll<rows>([&](auto r) { unroll<columns>([&](auto j) { store(at(r, j), acc[r][j]); }); });
}

using PairBlock = void (*)(int64_t, const Bf16Run*, int64_t, const uint16_t*, const Bf16Sums&, bool);
constexpr int most_pair_rows = 11;  // 22 accumulators, 2 of b; three calls cover a whole block

struct PairBlocks {
  PairBlock wide[most_pair_rows + 1] = {}, narrow[most_pair_rows + 1] = {};
};
template <int rows> constexpr void fill_pairs(PairBlocks& table) {
  if constexpr (rows > 0) {
    table.wide[rows] = pair_block<rows, 2>;
    table.narrow[rows] = pair_block<rows, 1>;
    fill_pairs<rows - 1>(table);
  }
}
constexpr PairBlocks make_pair_blocks() {
  PairBlocks table;
  fill_pairs<most_pair_rows>(table);
  return table;
}
constexpr PairBlocks pair_blocks = make_pair_blocks();

void any_pair_block(int64_t rows, bool wide, const Bf16Run* runs, int64_t count, const uint16_t* b, const Bf16Sums& sums, bool add) {
  const int64_t parts = (rows + most_pair_rows - 1) / most_pair_rows;
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t first = rows * i / parts, own = rows * (i + 1) / parts - first;
    (wide ? pair_blocks.wide : pair_blocks.narrow)[own](first, runs, count, b, sums, add);
  }
}

double product_loop(int64_t rounds) {
  constexpr int chains = 12;
  V acc[chains];
  unroll<chains>([&](auto i) { acc[i] = zero(); });
  Pairs a = reinterpret_cast<Pairs>(_mm512_set1_epi32(0x3f803f80)), b = a;
  for (int64_t k = 0; k < rounds; ++k) {
    unroll<chains>([&](auto i) {
      V& chain = acc[i];
      asm volatile("" : "+x"(chain));
    });
    unroll<chains>([&](auto i) { acc[i] = _mm512_dpbf16_ps(acc[i], a, b); });
  }
  V sum = zero();
  unroll<chains>([&](auto i) { sum = sum + acc[i]; });
  volatile float sink = sum_lanes(sum);
  (void)sink;
  return double(rounds) * chains * 64;
}

}  // namespace

const Kernels& avx512bf16_kernels() {
  static constexpr Bf16Kernels pairs{.name = "avx512bf16",
                                     .depth = 2,
                                     .preferred = false,
                                     .block = any_pair_block,
                                     .begin = [] {},
                                     .end = [] {},
                                     .product_loop = product_loop,
                                     .rounds = 1 << 18};
  static const Kernels table = [] {
    Kernels k = table_named("avx512bf16");
    k.bf16 = &pairs;
    k.integers = avx512_kernels().integers;
    return k;
  }();
  return table;
}

const Kernels& amx_kernels() {
  static const Kernels table = [] {
    Kernels k = table_named("amx");
    k.bf16 = &amx_tiles();
    k.integers = avx512_kernels().integers;
    return k;
  }();
  return table;
}

}  // namespace hearth::cpu
