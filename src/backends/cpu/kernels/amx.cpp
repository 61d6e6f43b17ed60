// bf16 products with AMX's tile instructions.
#include <immintrin.h>

#include "backends/cpu/kernels/bf16.h"

#include "backends/cpu/kernels/bf16_tiles.inl"

namespace hearth::cpu {
namespace {

// The intrinsics require the tile's number as a literal.
#define HEARTH_EACH_TILE(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7)
struct AmxTiles {
  template <int t> static inline __attribute__((always_inline)) void load(const void* p, size_t stride) {
#define HEARTH_LOAD(n) \
  if constexpr (t == n) _tile_loadd(n, p, stride);
    HEARTH_EACH_TILE(HEARTH_LOAD)
#undef HEARTH_LOAD
  }
  template <int t> static inline __attribute__((always_inline)) void store(void* p, size_t stride) {
#define HEARTH_STORE(n) \
  if constexpr (t == n) _tile_stored(n, p, stride);
    HEARTH_EACH_TILE(HEARTH_STORE)
#undef HEARTH_STORE
  }
  template <int t> static inline __attribute__((always_inline)) void zero() {
#define HEARTH_ZERO(n) \
  if constexpr (t == n) _tile_zero(n);
    HEARTH_EACH_TILE(HEARTH_ZERO)
#undef HEARTH_ZERO
  }
  template <int c, int a, int b> static inline __attribute__((always_inline)) void multiply() {
    static_assert(a == 4 + c / 2 && b == 6 + c % 2);
    if constexpr (c == 0) _tile_dpbf16ps(0, 4, 6);
    if constexpr (c == 1) _tile_dpbf16ps(1, 4, 7);
    if constexpr (c == 2) _tile_dpbf16ps(2, 5, 6);
    if constexpr (c == 3) _tile_dpbf16ps(3, 5, 7);
  }
  static inline __attribute__((always_inline)) void prefetch(const void* line) { _mm_prefetch(line, _MM_HINT_T0); }
};
#undef HEARTH_EACH_TILE

struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t bytes_per_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);

void begin() {
  const TileConfig config;
  asm volatile("" : : "r"(&config) : "memory");  // GCC 12 assumes that the next instruction reads only 8 bytes
  _tile_loadconfig(&config);
}
void end() { _tile_release(); }

double product_loop(int64_t rounds) {
  begin();
  AmxTiles::zero<0>(), AmxTiles::zero<1>(), AmxTiles::zero<2>(), AmxTiles::zero<3>();
  AmxTiles::zero<4>(), AmxTiles::zero<5>(), AmxTiles::zero<6>(), AmxTiles::zero<7>();
  for (int64_t i = 0; i < rounds; ++i) {
    AmxTiles::multiply<0, 4, 6>(), AmxTiles::multiply<1, 4, 7>();
    AmxTiles::multiply<2, 5, 6>(), AmxTiles::multiply<3, 5, 7>();
  }
  end();
  return double(rounds) * 4 * 2 * 16 * 16 * 32;
}

}  // namespace

const Bf16Kernels& amx_tiles() {
  static constexpr Bf16Kernels table{.name = "amx",
                                     .depth = 32,
                                     .preferred = true,
                                     .block = any_tile_block<AmxTiles>,
                                     .begin = begin,
                                     .end = end,
                                     .product_loop = product_loop,
                                     .rounds = 1 << 15};
  return table;
}

}  // namespace hearth::cpu
