// AMX tiles in plain loops, so that packing, tiling and edges can be tested on any CPU. The arithmetic is that of the
// instruction (TDPBF16PS): even and odd products of k are summed separately, each step a fused multiply-add, then both sums are added to
// each other and to the tile; subnormal factors and results count as zero.
#include <math.h>
#include <string.h>

#include "backends/cpu/kernels/bf16.h"

#include "backends/cpu/kernels/bf16_tiles.inl"

namespace hearth::cpu {
namespace {

thread_local uint32_t tiles[8][16][16];

float flushed(float x) { return fabsf(x) < 1.17549435e-38f ? copysignf(0, x) : x; }
float factor(uint32_t pair, int odd) {
  const uint32_t bits = odd ? pair & 0xffff0000u : pair << 16;
  float x;
  memcpy(&x, &bits, sizeof x);
  return flushed(x);
}

struct EmulatedTiles {
  template <int t> static void load(const void* p, size_t stride) {
    for (int row = 0; row < 16; ++row) memcpy(tiles[t][row], static_cast<const char*>(p) + size_t(row) * stride, 64);
  }
  template <int t> static void store(void* p, size_t stride) {
    for (int row = 0; row < 16; ++row) memcpy(static_cast<char*>(p) + size_t(row) * stride, tiles[t][row], 64);
  }
  template <int t> static void zero() { memset(tiles[t], 0, sizeof tiles[t]); }
  // The columns of a row are adjacent, so that the compiler vectorizes the loop.
  template <int c, int a, int b> static void multiply() {
    const auto& left = tiles[a];
    const auto& right = tiles[b];
    for (int m = 0; m < 16; ++m) {
      float even[16] = {}, odd[16] = {}, sum[16];
      for (int k = 0; k < 16; ++k) {
        const float x = factor(left[m][k], 0), y = factor(left[m][k], 1);
        for (int n = 0; n < 16; ++n) {
          even[n] = flushed(fmaf(x, factor(right[k][n], 0), even[n]));
          odd[n] = flushed(fmaf(y, factor(right[k][n], 1), odd[n]));
        }
      }
      memcpy(sum, tiles[c][m], sizeof sum);
      for (int n = 0; n < 16; ++n) sum[n] = flushed(flushed(sum[n]) + flushed(even[n] + odd[n]));
      memcpy(tiles[c][m], sum, sizeof sum);
    }
  }
  static void prefetch(const void*) {}
};

double product_loop(int64_t rounds) {
  for (int64_t i = 0; i < rounds; ++i) EmulatedTiles::multiply<0, 4, 6>();
  return double(rounds) * 2 * 16 * 16 * 32;
}

}  // namespace

const Bf16Kernels& emulated_tiles() {
  static constexpr Bf16Kernels table{.name = "emulated",
                                     .depth = 32,
                                     .preferred = false,
                                     .block = any_tile_block<EmulatedTiles>,
                                     .begin = [] {},
                                     .end = [] {},
                                     .product_loop = product_loop,
                                     .rounds = 1 << 4};
  return table;
}

}  // namespace hearth::cpu
