// The types of codebooks (core/quantized/block_grids.h) as formats of row_types.inl. A code is a value of an entry with its sign, and
// all units of a block share a factor:  step = factor · scale_bytes. Included once by each instruction set.

namespace hearth::cpu {
namespace {

HEARTH_INLINE uint32_t byte_at(const char* p) { return uint8_t(*p); }
HEARTH_INLINE uint32_t word16(const char* p) {
  uint16_t w;
  __builtin_memcpy(&w, p, sizeof w);
  return w;
}
HEARTH_INLINE __m128i bytes8(const char* p) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)); }

HEARTH_INLINE __m256i entries(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
  return _mm256_setr_epi64x(int64_t(a), int64_t(b), int64_t(c), int64_t(d));
}
// Four bytes of signs by their 7-bit indices.
HEARTH_INLINE uint32_t signs_of(uint32_t t) {
  const uint8_t* const all = blocks::iq_signs.entries;
  return uint32_t(all[t & 127]) | uint32_t(all[t >> 7 & 127]) << 8 | uint32_t(all[t >> 14 & 127]) << 16 |
         uint32_t(all[t >> 21 & 127]) << 24;
}
// Negates byte i if bit i of the signs is set.
HEARTH_INLINE __m256i with_signs(__m256i codes, uint32_t signs) {
  const __m256i own_byte = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
  const __m256i own_bit = _mm256_set1_epi64x(int64_t(0x8040201008040201));
  const __m256i bits = _mm256_and_si256(_mm256_shuffle_epi8(_mm256_set1_epi32(int(signs)), own_byte), own_bit);
  const __m256i negative = _mm256_cmpeq_epi8(bits, own_bit);
  return _mm256_sub_epi8(_mm256_xor_si256(codes, negative), negative);
}

HEARTH_INLINE __m128i odd(__m128i bytes) { return _mm_add_epi8(_mm_add_epi8(bytes, bytes), _mm_set1_epi8(1)); }  // 2 x + 1
// The nibbles of up to eight bytes, the lower one of each first.
HEARTH_INLINE __m128i nibbles(__m128i bytes) {
  const __m128i low = _mm_set1_epi8(15);
  return _mm_unpacklo_epi8(_mm_and_si128(bytes, low), _mm_and_si128(_mm_srli_epi16(bytes, 4), low));
}
// The upper four bits of each eighth byte, of 8 · 8 bytes whose first one of those is at p, or of each fourth.
template <int stride> HEARTH_INLINE __m128i upper_nibbles(const char* p) {
  alignas(16) char all[16] = {};
  for (int g = 0; g < 8; ++g) all[g] = char(byte_at(p + stride * g) >> 4);
  return _mm_load_si128(reinterpret_cast<const __m128i*>(all));
}

// Steps of the units of a block: 16, or 8 and as many without meaning.
template <class F> struct GridScales {
  explicit GridScales(const char* p) {
    store16(F::scale_bytes(p), set(F::factor(p)), step);
    keep_in_memory(step);
  }
  alignas(64) float step[16];
};

HEARTH_INLINE float f16_at(const char* p) {
  uint16_t bits;
  __builtin_memcpy(&bits, p, sizeof bits);
  return _cvtsh_ss(bits);
}

#define HEARTH_GRID(format, block_bytes, values_of_unit)                                                                             \
  static constexpr int64_t values = 256, bytes = block_bytes;                                                                        \
  static constexpr int parts = 8, unit = values_of_unit;                                                                             \
  static constexpr bool least = false;                                                                                               \
  using Scales = GridScales<format>;                                                                                                 \
  HEARTH_DECODE {                                                                                                                    \
    const __m256i q = codes_of<part>(p);                                                                                             \
    unroll<32 / W>([&](auto i) { to(Constant<part * 32 / W + i>{}, number<i>(q) * set(scales.step[(part * 32 + i * W) / unit])); }); \
  }

struct RowIq2Xxs {
  HEARTH_GRID(RowIq2Xxs, 66, 32)
  static float factor(const char* p) { return f16_at(p) / 8; }
  static __m128i scale_bytes(const char* p) { return odd(upper_nibbles<8>(p + 9)); }
  HEARTH_CODES {
    const char* const at = p + 2 + 8 * part;
    const uint64_t* const grid = blocks::iq2_xxs_grid.entries;
    return with_signs(entries(grid[byte_at(at)], grid[byte_at(at + 1)], grid[byte_at(at + 2)], grid[byte_at(at + 3)]),
                      signs_of(word(at + 4)));
  }
};

struct RowIq2Xs {
  HEARTH_GRID(RowIq2Xs, 74, 16)
  static float factor(const char* p) { return f16_at(p) / 8; }
  static __m128i scale_bytes(const char* p) { return odd(nibbles(bytes8(p + 66))); }
  HEARTH_CODES {
    const uint64_t* const grid = blocks::iq2_xs_grid.entries;
    const uint8_t* const signs = blocks::iq_signs.entries;
    uint32_t w[4];
    for (int l = 0; l < 4; ++l) w[l] = word16(p + 2 + 8 * part + 2 * l);
    return with_signs(
        entries(grid[w[0] & 511], grid[w[1] & 511], grid[w[2] & 511], grid[w[3] & 511]),
        uint32_t(signs[w[0] >> 9]) | uint32_t(signs[w[1] >> 9]) << 8 | uint32_t(signs[w[2] >> 9]) << 16 | uint32_t(signs[w[3] >> 9]) << 24);
  }
};

struct RowIq2S {
  HEARTH_GRID(RowIq2S, 82, 16)
  static float factor(const char* p) { return f16_at(p) / 8; }
  static __m128i scale_bytes(const char* p) { return odd(nibbles(bytes8(p + 74))); }
  HEARTH_CODES {
    const uint64_t* const grid = blocks::iq2_s_grid.entries;
    const char* const at = p + 2 + 4 * part;
    const uint32_t high = byte_at(p + 66 + part);
    return with_signs(entries(grid[byte_at(at) | (high << 8 & 0x300)], grid[byte_at(at + 1) | (high << 6 & 0x300)],
                              grid[byte_at(at + 2) | (high << 4 & 0x300)], grid[byte_at(at + 3) | (high << 2 & 0x300)]),
                      word(p + 34 + 4 * part));
  }
};

// Eight entries of four values: at(i) is entry i.
template <class At> HEARTH_INLINE __m256i eight_entries(const At& at) {
  const auto e = [&](int i) __attribute__((always_inline)) { return int(at(i)); };
  return _mm256_setr_epi32(e(0), e(1), e(2), e(3), e(4), e(5), e(6), e(7));
}

struct RowIq3Xxs {
  HEARTH_GRID(RowIq3Xxs, 98, 32)
  static float factor(const char* p) { return f16_at(p) / 4; }
  static __m128i scale_bytes(const char* p) { return odd(upper_nibbles<4>(p + 69)); }
  HEARTH_CODES {
    const char* const at = p + 2 + 8 * part;
    return with_signs(eight_entries([&](int i) { return blocks::iq3_xxs_grid.entries[byte_at(at + i)]; }),
                      signs_of(word(p + 66 + 4 * part)));
  }
};

struct RowIq3S {
  HEARTH_GRID(RowIq3S, 110, 32)
  static float factor(const char* p) { return f16_at(p); }
  static __m128i scale_bytes(const char* p) { return odd(nibbles(_mm_cvtsi32_si128(int(word(p + 106))))); }
  HEARTH_CODES {
    const char* const at = p + 2 + 8 * part;
    const uint32_t high = byte_at(p + 66 + part);
    return with_signs(eight_entries([&](int i) { return blocks::iq3_s_grid.entries[byte_at(at + i) | (high << (8 - i) & 0x100)]; }),
                      word(p + 74 + 4 * part));
  }
};

struct RowIq1S {
  HEARTH_GRID(RowIq1S, 50, 32)
  static float factor(const char* p) { return f16_at(p) / 8; }
  static __m128i scale_bytes(const char* p) {
    const __m128i three = _mm_and_si128(_mm_srli_epi16(bytes16(p + 34), 12), _mm_set1_epi16(7));
    return odd(_mm_packus_epi16(three, three));
  }
  HEARTH_CODES {
    const uint64_t* const grid = blocks::iq1_grid.entries;
    const char* const at = p + 2 + 4 * part;
    const uint32_t h = word16(p + 34 + 2 * part);
    return _mm256_add_epi8(entries(grid[byte_at(at) | (h << 8 & 0x700)], grid[byte_at(at + 1) | (h << 5 & 0x700)],
                                   grid[byte_at(at + 2) | (h << 2 & 0x700)], grid[byte_at(at + 3) | (h >> 1 & 0x700)]),
                           _mm256_set1_epi8(h & 0x8000 ? -1 : 1));
  }
};

struct RowIq1M {
  HEARTH_GRID(RowIq1M, 56, 16)
  static float factor(const char* p) {
    const char* const s = p + 48;
    return _cvtsh_ss(uint16_t(word16(s) >> 12 | (word16(s + 2) >> 8 & 0xf0) | (word16(s + 4) >> 4 & 0xf00) | (word16(s + 6) & 0xf000))) / 8;
  }
  static __m128i scale_bytes(const char* p) {
    alignas(16) char all[16];
    for (int j = 0; j < 16; ++j) all[j] = char(word16(p + 48 + j / 4 * 2) >> (3 * (j % 4)) & 7);
    return odd(_mm_load_si128(reinterpret_cast<const __m128i*>(all)));
  }
  HEARTH_CODES {
    const uint64_t* const grid = blocks::iq1_grid.entries;
    const char* const at = p + 4 * part;
    const uint32_t h = word16(p + 32 + 2 * part);
    const auto one = [&](int l) __attribute__((always_inline)) {
      return h >> (4 * l + 3) & 1 ? ~uint64_t(0) : uint64_t(0x0101010101010101);
    };
    return _mm256_add_epi8(entries(grid[byte_at(at) | (h << 8 & 0x700)], grid[byte_at(at + 1) | (h << 4 & 0x700)],
                                   grid[byte_at(at + 2) | (h & 0x700)], grid[byte_at(at + 3) | (h >> 4 & 0x700)]),
                           entries(one(0), one(1), one(2), one(3)));
  }
};

// f(Format{}) for the type given at run time.
template <class F> HEARTH_INLINE void with_format(RowType type, const F& f) {
  switch (type) {
    case row_f32: return f(RowF32{});
    case row_f16: return f(RowF16{});
    case row_bf16: return f(RowBf16{});
    case row_f8_e4m3: return f(RowE4M3{});
    case row_f8_e5m2: return f(RowE5M2{});
    case row_q8_0: return f(RowQ80{});
    case row_q4_0: return f(RowQ40{});
    case row_q4_1: return f(RowQ41{});
    case row_q5_0: return f(RowQ50{});
    case row_q5_1: return f(RowQ51{});
    case row_q2_k: return f(RowQ2K{});
    case row_q3_k: return f(RowQ3K{});
    case row_q4_k: return f(RowQ4K{});
    case row_q5_k: return f(RowQ5K{});
    case row_q6_k: return f(RowQ6K{});
    case row_iq4_nl: return f(RowIq4Nl{});
    case row_iq4_xs: return f(RowIq4Xs{});
    case row_mxfp4: return f(RowMxfp4{});
    case row_iq2_xxs: return f(RowIq2Xxs{});
    case row_iq2_xs: return f(RowIq2Xs{});
    case row_iq2_s: return f(RowIq2S{});
    case row_iq3_xxs: return f(RowIq3Xxs{});
    case row_iq3_s: return f(RowIq3S{});
    case row_iq1_s: return f(RowIq1S{});
    case row_iq1_m: return f(RowIq1M{});
  }
}

}  // namespace
}  // namespace hearth::cpu
