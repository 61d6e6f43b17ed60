// Dequantizes the blocks of a row, one register at a time. Included once by each instruction set.
//
// A format has `values` in a block of `bytes`, split into `parts`. Scales holds what the parts of a block share, and
// decode<part>(block, scales, to) calls to(i, V) for the registers of a part in order, counted from the start of the block.
// For integer products a block format also has codes_of<part>(block), the signed bytes of 32 values in order. Each `unit` of
// values has a step and, if `least` is set, a lowest value: value = step · code + lowest. In blocks of one unit these are f16 values
// at step_at and least_at.

namespace hearth::cpu {
namespace {

#define HEARTH_DECODE           \
  template <int part, class To> \
  static __attribute__((always_inline)) void decode(const char* p, [[maybe_unused]] const Scales& scales, const To& to)

#define HEARTH_CODES template <int part> static __attribute__((always_inline)) __m256i codes_of(const char* p)

struct OwnScales {  // of the only part
  explicit OwnScales(const char*) {}
};

struct RowF32 {
  static constexpr int64_t values = 32, bytes = 128;
  static constexpr int parts = 1;
  using Scales = OwnScales;
  HEARTH_DECODE {
    unroll<32 / W>([&](auto i) { to(i, load(reinterpret_cast<const float*>(p) + i * W)); });
  }
};

struct RowF16 {
  static constexpr bool bf16 = false;
  static constexpr int64_t values = 32, bytes = 64;
  static constexpr int parts = 1;
  using Scales = OwnScales;
  HEARTH_DECODE {
    unroll<32 / W>([&](auto i) { to(i, load_f16(reinterpret_cast<const uint16_t*>(p) + i * W)); });
  }
};

struct RowBf16 {
  static constexpr bool bf16 = true;
  static constexpr int64_t values = 32, bytes = 64;
  static constexpr int parts = 1;
  using Scales = OwnScales;
  HEARTH_DECODE {
    unroll<32 / W>([&](auto i) { to(i, load_bf16(reinterpret_cast<const uint16_t*>(p) + i * W)); });
  }
};

struct RowE4M3 {
  static constexpr int64_t values = 32, bytes = 32;
  static constexpr int parts = 1;
  using Scales = OwnScales;
  HEARTH_DECODE {
    unroll<32 / W>([&](auto i) { to(i, load_e4m3(p + i * W)); });
  }
};

struct RowE5M2 {
  static constexpr int64_t values = 32, bytes = 32;
  static constexpr int parts = 1;
  using Scales = OwnScales;
  HEARTH_DECODE {
    unroll<32 / W>([&](auto i) { to(i, load_e5m2(p + i * W)); });
  }
};

HEARTH_INLINE __m128i bytes16(const char* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
HEARTH_INLINE __m256i bytes32(const char* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
HEARTH_INLINE uint32_t word(const char* p) {
  uint32_t w;
  __builtin_memcpy(&w, p, sizeof w);
  return w;
}
// Register i of 32 bytes in both halves, as signed integers.
template <int i> HEARTH_INLINE V number(__m256i bytes) {
  const __m128i half = i * W < 16 ? _mm256_castsi256_si128(bytes) : _mm256_extracti128_si256(bytes, 1);
  return widen_i8(i * W % 16 == 0 ? half : _mm_srli_si128(half, 8));
}

// Broadcasts scales from memory: the compiler would shuffle them out of a register, on the ports that unpack codes.
template <class Array> HEARTH_INLINE void keep_in_memory(Array& array) { asm("" : "+m"(array)); }

HEARTH_INLINE void store16(__m128i bytes, V factor, float* to) {
  unroll<16 / W>([&](auto i) { store(to + i * W, widen_i8(i == 0 ? bytes : _mm_srli_si128(bytes, 8)) * factor); });
}

// 32 four-bit codes of 16 bytes, the first 16 in the low nibbles.
HEARTH_INLINE __m256i four_bits(const char* p) {
  const __m128i pairs = bytes16(p);
  return _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(pairs, 4), pairs), _mm256_set1_epi8(15));
}
HEARTH_INLINE __m256i looked_up(__m128i table, const char* p) {
  return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), four_bits(p));
}

struct RowQ80 {
  static constexpr int64_t values = 32, bytes = 34;
  static constexpr int parts = 1;
  static constexpr int unit = 32, codes_at = 2, step_at = 0;
  static constexpr bool least = false;
  using Scales = OwnScales;
  HEARTH_CODES { return bytes32(p + 2); }
  HEARTH_DECODE {
    const V d = broadcast_f16(p);
    unroll<32 / W>([&](auto i) { to(i, widen_i8(load_bytes(p + 2 + i * W)) * d); });
  }
};

// 32 codes in the nibbles of 16 bytes, the first 16 in the low ones.
template <class Levels, class To> HEARTH_INLINE void split_codes(const char* p, const Levels& levels, const To& to) {
  Codes c[16 / W];
  unroll<16 / W>([&](auto i) {
    c[i] = codes(p + i * W);
    to(i, level(levels, c[i]));
  });
  unroll<16 / W>([&](auto i) { to(Constant<16 / W + i>{}, level(levels, high_codes(c[i]))); });
}

#ifndef __AVX512F__
// Table lookup per byte.
template <class To> HEARTH_INLINE void split_codes(const char* p, const TableLevels& levels, const To& to) {
  const __m256i found = _mm256_shuffle_epi8(levels.table, four_bits(p));
  unroll<32 / W>([&](auto i) { to(i, number<i>(found) * levels.factor); });
}
#endif

struct RowQ40 {
  static constexpr int64_t values = 32, bytes = 18;
  static constexpr int parts = 1;
  static constexpr int unit = 32, codes_at = 2, step_at = 0;
  static constexpr bool least = false;
  using Scales = OwnScales;
  HEARTH_CODES { return _mm256_sub_epi8(four_bits(p + 2), _mm256_set1_epi8(8)); }
  HEARTH_DECODE {
    const V d = broadcast_f16(p);
    split_codes(p + 2, even_levels(d, set(-8) * d), to);
  }
};
struct RowQ41 {
  static constexpr int64_t values = 32, bytes = 20;
  static constexpr int parts = 1;
  static constexpr int unit = 32, codes_at = 4, step_at = 0, least_at = 2;
  static constexpr bool least = true;
  using Scales = OwnScales;
  HEARTH_CODES { return four_bits(p + 4); }
  HEARTH_DECODE { split_codes(p + 4, even_levels(broadcast_f16(p), broadcast_f16(p + 2)), to); }
};

// Steps and lowest values of eight times 32 codes: six bits each of 12 bytes, times d and dmin, in f16 in front of them.
struct EightScales {
  __m256 step, lowest;
};
HEARTH_INLINE EightScales scales_k4(const char* p) {
  const __m128i bits = bytes16(p + 4);
  const __m128i low = _mm_and_si128(_mm_srlv_epi32(_mm_shuffle_epi32(bits, 0x98), _mm_setr_epi32(0, 0, 0, 4)),
                                    _mm_setr_epi32(0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f));
  const __m128i high = _mm_and_si128(_mm_srli_epi32(_mm_shuffle_epi32(bits, 0x50), 2), _mm_setr_epi32(0, 0x30303030, 0, 0x30303030));
  const __m128i all = _mm_or_si128(low, high);
  const __m128 factors = _mm_cvtph_ps(_mm_cvtsi32_si128(int(word(p))));
  const __m256 d = _mm256_broadcastss_ps(factors), least = _mm256_broadcastss_ps(_mm_movehdup_ps(factors));
  return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(all)) * d, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(all, 8))) * -least};
}
struct ScalesK4 {
  explicit ScalesK4(const char* p) {
    const EightScales own = scales_k4(p);
    _mm256_store_ps(step, own.step);
    _mm256_store_ps(lowest, own.lowest);
    keep_in_memory(step);
    keep_in_memory(lowest);
  }
  alignas(32) float step[8], lowest[8];
};

struct RowQ4K {
  static constexpr int64_t values = 256, bytes = 144;
  static constexpr int parts = 4;
  static constexpr int unit = 32, codes_at = 16;
  static constexpr bool least = true;
  using Scales = ScalesK4;
  HEARTH_CODES {
    const __m256i pair = bytes32(p + 16 + part / 2 * 32);
    return _mm256_and_si256(part % 2 == 0 ? pair : _mm256_srli_epi16(pair, 4), _mm256_set1_epi8(15));
  }
  HEARTH_DECODE {
    const auto low = even_levels(set(scales.step[2 * part]), set(scales.lowest[2 * part]));
    const auto high = even_levels(set(scales.step[2 * part + 1]), set(scales.lowest[2 * part + 1]));
    Codes c[32 / W];
    unroll<32 / W>([&](auto i) {
      c[i] = codes(p + 16 + part * 32 + i * W);
      to(Constant<part * 64 / W + i>{}, level(low, c[i]));
    });
    unroll<32 / W>([&](auto i) { to(Constant<(part * 64 + 32) / W + i>{}, level(high, high_codes(c[i]))); });
  }
};

// Five-bit codes: four bits in the nibbles of 16 bytes, the fifth in a bit of `fifth`.
HEARTH_INLINE __m256i five_bits(const char* p, const char* fifth) {
  const __m256i four = four_bits(p);
  const __m256i own_byte = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
  const __m256i own_bit = _mm256_set1_epi64x(int64_t(0x8040201008040201));
  const __m256i bits = _mm256_and_si256(_mm256_shuffle_epi8(_mm256_set1_epi32(int(word(fifth))), own_byte), own_bit);
  return _mm256_or_si256(four, _mm256_and_si256(_mm256_cmpeq_epi8(bits, own_bit), _mm256_set1_epi8(16)));
}

struct RowQ50 {
  static constexpr int64_t values = 32, bytes = 22;
  static constexpr int parts = 1;
  static constexpr int unit = 32, fifths_at = 2, codes_at = 6, step_at = 0;
  static constexpr bool least = false;
  using Scales = OwnScales;
  HEARTH_CODES { return _mm256_sub_epi8(five_bits(p + 6, p + 2), _mm256_set1_epi8(16)); }
  HEARTH_DECODE {
    const V d = broadcast_f16(p);
    const __m256i q = codes_of<part>(p);
    unroll<32 / W>([&](auto i) { to(i, number<i>(q) * d); });
  }
};

struct RowQ51 {
  static constexpr int64_t values = 32, bytes = 24;
  static constexpr int parts = 1;
  static constexpr int unit = 32, fifths_at = 4, codes_at = 8, step_at = 0, least_at = 2;
  static constexpr bool least = true;
  using Scales = OwnScales;
  HEARTH_CODES { return five_bits(p + 8, p + 4); }
  HEARTH_DECODE {
    const V d = broadcast_f16(p), m = broadcast_f16(p + 2);
    const __m256i q = codes_of<part>(p);
    unroll<32 / W>([&](auto i) { to(i, fma(number<i>(q), d, m)); });
  }
};

struct ScalesQ2K {
  explicit ScalesQ2K(const char* p) {
    const __m128i both = bytes16(p), low = _mm_set1_epi8(15);
    store16(_mm_and_si128(both, low), broadcast_f16(p + 80), step);
    store16(_mm_and_si128(_mm_srli_epi16(both, 4), low), -broadcast_f16(p + 82), lowest);
    keep_in_memory(step);
    keep_in_memory(lowest);
  }
  alignas(64) float step[16], lowest[16];
};

struct RowQ2K {
  static constexpr int64_t values = 256, bytes = 84;
  static constexpr int parts = 8;
  static constexpr int unit = 16, codes_at = 16;
  static constexpr bool least = true;
  using Scales = ScalesQ2K;
  HEARTH_CODES { return _mm256_and_si256(_mm256_srli_epi16(bytes32(p + 16 + part / 4 * 32), part % 4 * 2), _mm256_set1_epi8(3)); }
  HEARTH_DECODE {
    const __m256i q = codes_of<part>(p);
    unroll<32 / W>([&](auto i) {
      constexpr int j = part * 2 + i * W / 16;
      to(Constant<part * 32 / W + i>{}, fma(number<i>(q), set(scales.step[j]), set(scales.lowest[j])));
    });
  }
};

HEARTH_INLINE __m128i scales_q3k(const char* p) {  // six bits each, in 12 bytes
  const __m128i bits = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p + 96)), last = _mm_set1_epi32(int(word(p + 104)));
  const __m128i low = _mm_and_si128(_mm_srlv_epi32(_mm_shuffle_epi32(bits, 0x44), _mm_setr_epi32(0, 0, 4, 4)), _mm_set1_epi8(15));
  const __m128i high = _mm_and_si128(_mm_srlv_epi32(last, _mm_setr_epi32(0, 2, 4, 6)), _mm_set1_epi8(3));
  return _mm_sub_epi8(_mm_or_si128(low, _mm_slli_epi32(high, 4)), _mm_set1_epi8(32));
}
struct ScalesQ3K {
  explicit ScalesQ3K(const char* p) {
    store16(scales_q3k(p), broadcast_f16(p + 108), step);
    keep_in_memory(step);
  }
  alignas(64) float step[16];
};

struct RowQ3K {
  static constexpr int64_t values = 256, bytes = 110;
  static constexpr int parts = 8;
  static constexpr int unit = 16, codes_at = 32;
  static constexpr bool least = false;
  using Scales = ScalesQ3K;
  HEARTH_CODES {
    const __m256i third = bytes32(p), four = _mm256_set1_epi8(4);
    const __m256i two = _mm256_and_si256(_mm256_srli_epi16(bytes32(p + 32 + part / 4 * 32), part % 4 * 2), _mm256_set1_epi8(3));
    const __m256i bit = part < 2 ? _mm256_slli_epi16(third, 2 - part) : _mm256_srli_epi16(third, part - 2);
    return _mm256_sub_epi8(_mm256_or_si256(two, _mm256_and_si256(bit, four)), four);
  }
  HEARTH_DECODE {
    const __m256i q = codes_of<part>(p);
    unroll<32 / W>([&](auto i) { to(Constant<part * 32 / W + i>{}, number<i>(q) * set(scales.step[part * 2 + i * W / 16])); });
  }
};

struct RowQ5K {
  static constexpr int64_t values = 256, bytes = 176;
  static constexpr int parts = 8;
  static constexpr int unit = 32, codes_at = 48;
  static constexpr bool least = true;
  using Scales = ScalesK4;
  HEARTH_CODES {
    const __m256i pair = bytes32(p + 48 + part / 2 * 32),
                  bit = _mm256_and_si256(_mm256_srli_epi16(bytes32(p + 16), part), _mm256_set1_epi8(1));
    const __m256i four = _mm256_and_si256(part % 2 == 0 ? pair : _mm256_srli_epi16(pair, 4), _mm256_set1_epi8(15));
    return _mm256_or_si256(four, _mm256_slli_epi16(bit, 4));
  }
  HEARTH_DECODE {
    const __m256i q = codes_of<part>(p);
    const V step = set(scales.step[part]), lowest = set(scales.lowest[part]);
    unroll<32 / W>([&](auto i) { to(Constant<part * 32 / W + i>{}, fma(number<i>(q), step, lowest)); });
  }
};

struct ScalesQ6K {
  explicit ScalesQ6K(const char* p) {
    store16(bytes16(p + 192), broadcast_f16(p + 208), step);
    keep_in_memory(step);
  }
  alignas(64) float step[16];
};

struct RowQ6K {
  static constexpr int64_t values = 256, bytes = 210;
  static constexpr int parts = 8;
  static constexpr int unit = 16;
  static constexpr bool least = false;
  using Scales = ScalesQ6K;
  HEARTH_CODES {
    constexpr int half = part / 4, a = part % 4;
    const __m256i pair = bytes32(p + half * 64 + a % 2 * 32), upper = bytes32(p + 128 + half * 32);
    const __m256i four = _mm256_and_si256(a < 2 ? pair : _mm256_srli_epi16(pair, 4), _mm256_set1_epi8(15));
    const __m256i high = a < 2 ? _mm256_slli_epi16(upper, 4 - 2 * a) : _mm256_srli_epi16(upper, 2 * a - 4);
    return _mm256_sub_epi8(_mm256_or_si256(four, _mm256_and_si256(high, _mm256_set1_epi8(0x30))), _mm256_set1_epi8(32));
  }
  HEARTH_DECODE {
    const __m256i q = codes_of<part>(p);
    unroll<32 / W>([&](auto i) { to(Constant<part * 32 / W + i>{}, number<i>(q) * set(scales.step[part * 2 + i * W / 16])); });
  }
};

HEARTH_INLINE __m128i iq4_codes() { return _mm_setr_epi8(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113); }

struct RowIq4Nl {
  static constexpr int64_t values = 32, bytes = 18;
  static constexpr int parts = 1;
  static constexpr int unit = 32, codes_at = 2, step_at = 0;
  static constexpr bool least = false;
  using Scales = OwnScales;
  HEARTH_CODES { return looked_up(iq4_codes(), p + 2); }
  HEARTH_DECODE { split_codes(p + 2, table_levels(iq4_codes(), broadcast_f16(p)), to); }
};

HEARTH_INLINE __m256 scales_iq4xs(const char* p) {
  const __m256i low = _mm256_srlv_epi32(_mm256_set1_epi32(int(word(p + 4))), _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28));
  const __m256i high = _mm256_srlv_epi32(_mm256_set1_epi32(int(word(p) >> 16)), _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14));
  const __m256i six =
      _mm256_or_si256(_mm256_and_si256(low, _mm256_set1_epi32(15)), _mm256_slli_epi32(_mm256_and_si256(high, _mm256_set1_epi32(3)), 4));
  const __m256 d = _mm256_broadcastss_ps(_mm_cvtph_ps(_mm_cvtsi32_si128(int(word(p)))));
  return _mm256_cvtepi32_ps(_mm256_sub_epi32(six, _mm256_set1_epi32(32))) * d;
}
struct ScalesIq4Xs {
  explicit ScalesIq4Xs(const char* p) {
    _mm256_store_ps(step, scales_iq4xs(p));
    keep_in_memory(step);
  }
  alignas(32) float step[8];
};

struct RowIq4Xs {
  static constexpr int64_t values = 256, bytes = 136;
  static constexpr int parts = 8;
  static constexpr int unit = 32, codes_at = 8;
  static constexpr bool least = false;
  using Scales = ScalesIq4Xs;
  HEARTH_CODES { return looked_up(iq4_codes(), p + 8 + part * 16); }
  HEARTH_DECODE {
    split_codes(p + 8 + part * 16, table_levels(iq4_codes(), set(scales.step[part])),
                [&](auto i, V v) { to(Constant<part * 32 / W + i>{}, v); });
  }
};

HEARTH_INLINE __m128i doubled_e2m1() { return _mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12); }

struct RowMxfp4 {
  static constexpr int64_t values = 32, bytes = 17;
  static constexpr int parts = 1;
  static constexpr int unit = 32, codes_at = 1;
  static constexpr bool least = false;
  using Scales = OwnScales;
  HEARTH_CODES { return looked_up(doubled_e2m1(), p + 1); }
  HEARTH_DECODE {
    const uint32_t e = uint8_t(p[0]), half_scale = e < 2 ? 0x00200000u << e : (e - 1) << 23;  // 2ᵉ⁻¹²⁸
    float factor;
    __builtin_memcpy(&factor, &half_scale, sizeof factor);
    split_codes(p + 1, table_levels(doubled_e2m1(), set(factor)), to);
  }
};

}  // namespace
}  // namespace hearth::cpu
