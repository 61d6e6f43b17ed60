// AVX2 with FMA and F16C: the primitives of the kernels. simd_avx512.h has the same for AVX-512.
#pragma once

#include <immintrin.h>
#include <stdint.h>

#define HEARTH_INLINE static inline __attribute__((always_inline))

namespace hearth::cpu {
namespace {

using V = __m256;     // arithmetic by operators
using M = __m256;     // all bits of a lane
constexpr int W = 8;  // NOLINT(misc-definitions-in-headers)

HEARTH_INLINE V set(float x) { return _mm256_set1_ps(x); }
HEARTH_INLINE V zero() { return _mm256_setzero_ps(); }
HEARTH_INLINE V load(const float* p) { return _mm256_loadu_ps(p); }
HEARTH_INLINE void store(float* p, V v) { _mm256_storeu_ps(p, v); }
HEARTH_INLINE __m256i first_lanes(int64_t n) {  // n < W
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(int(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
HEARTH_INLINE V load_n(const float* p, int64_t n) { return _mm256_maskload_ps(p, first_lanes(n)); }
HEARTH_INLINE void store_n(float* p, int64_t n, V v) { _mm256_maskstore_ps(p, first_lanes(n), v); }

HEARTH_INLINE V fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }    // a·b + c
HEARTH_INLINE V fnma(V a, V b, V c) { return _mm256_fnmadd_ps(a, b, c); }  // c − a·b
// If an operand is NaN, the result is the second operand.
HEARTH_INLINE V max(V a, V b) { return _mm256_max_ps(a, b); }
HEARTH_INLINE V min(V a, V b) { return _mm256_min_ps(a, b); }
HEARTH_INLINE V sqrt(V a) { return _mm256_sqrt_ps(a); }
HEARTH_INLINE V abs(V a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
HEARTH_INLINE V round(V a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
HEARTH_INLINE V times_power_of_two(V a, V n) {  // n integer, |n| ≤ 254; in two steps, so that the result may be subnormal or infinite
  const __m256i whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1), rest = _mm256_sub_epi32(whole, half);
  const __m256i bias = _mm256_set1_epi32(127);
  const V p = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23));
  const V q = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23));
  return a * p * q;
}
HEARTH_INLINE M less(V a, V b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
HEARTH_INLINE M is_nan(V a) { return _mm256_cmp_ps(a, a, _CMP_UNORD_Q); }
HEARTH_INLINE V select(M m, V yes, V no) { return _mm256_blendv_ps(no, yes, m); }
HEARTH_INLINE float max_lanes(V a) {
  __m128 half = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  half = _mm_max_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_max_ss(half, _mm_movehdup_ps(half)));
}
HEARTH_INLINE float sum_lanes(V a) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
// Sums of all lanes in one fixed order: first four registers within each half, then the halves of two of those.
HEARTH_INLINE V quarter_sums(V a, V b, V c, V d) {
  const V ab = _mm256_unpacklo_ps(a, b) + _mm256_unpackhi_ps(a, b), cd = _mm256_unpacklo_ps(c, d) + _mm256_unpackhi_ps(c, d);
  const __m256d lo = _mm256_castps_pd(ab), hi = _mm256_castps_pd(cd);
  return _mm256_castpd_ps(_mm256_unpacklo_pd(lo, hi)) + _mm256_castpd_ps(_mm256_unpackhi_pd(lo, hi));
}
constexpr int quarters = 2;              // results of quarter_sums that lane_sums reads; NOLINT(misc-definitions-in-headers)
HEARTH_INLINE V lane_sums(const V* u) {  // 8 sums
  return _mm256_permute2f128_ps(u[0], u[1], 0x20) + _mm256_permute2f128_ps(u[0], u[1], 0x31);
}

// r[i] lane j → r[j] lane i
HEARTH_INLINE void turn(V* r) {
  V t[8], u[8];
  for (int i = 0; i < 8; i += 2) t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]), t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  for (int i = 0; i < 8; i += 4)
    for (int j = 0; j < 2; ++j) {
      const __m256d a = _mm256_castps_pd(t[i + j]), b = _mm256_castps_pd(t[i + j + 2]);
      u[i + 2 * j] = _mm256_castpd_ps(_mm256_unpacklo_pd(a, b));
      u[i + 2 * j + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(a, b));
    }
  for (int j = 0; j < 4; ++j) {
    r[j] = _mm256_permute2f128_ps(u[j], u[j + 4], 0x20);
    r[j + 4] = _mm256_permute2f128_ps(u[j], u[j + 4], 0x31);
  }
}

// r[i] word j → word i in column j, j < 16: r[i] becomes column i and, in its upper half, column 8 + i.
HEARTH_INLINE void turn_words(__m256i* r) {
  __m256i t[8], u[8];
  for (int i = 0; i < 8; i += 2) t[i] = _mm256_unpacklo_epi16(r[i], r[i + 1]), t[i + 1] = _mm256_unpackhi_epi16(r[i], r[i + 1]);
  for (int i = 0; i < 8; i += 4)
    for (int j = 0; j < 2; ++j) {
      u[i + 2 * j] = _mm256_unpacklo_epi32(t[i + j], t[i + j + 2]);
      u[i + 2 * j + 1] = _mm256_unpackhi_epi32(t[i + j], t[i + j + 2]);
    }
  for (int j = 0; j < 4; ++j) {
    r[2 * j] = _mm256_unpacklo_epi64(u[j], u[j + 4]);
    r[2 * j + 1] = _mm256_unpackhi_epi64(u[j], u[j + 4]);
  }
}

// Interleaved lanes.
HEARTH_INLINE V swapped_pairs(V a) { return _mm256_permute_ps(a, 0xb1); }
HEARTH_INLINE V first_of_pairs_negated(V a) { return _mm256_xor_ps(a, _mm256_castsi256_ps(_mm256_set1_epi64x(int64_t(0x80000000)))); }
HEARTH_INLINE void doubled_lanes(V a, V* low, V* high) {  // a₀ a₀ a₁ a₁ …
  const __m256i own = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);
  *low = _mm256_permutevar8x32_ps(a, own);
  *high = _mm256_permutevar8x32_ps(a, _mm256_add_epi32(own, _mm256_set1_epi32(4)));
}

// 8 8-bit floats (core/dtype.h). As an f16 with the same fields, an e4m3 is 2⁻⁸ times its value; NaN has another exponent.
HEARTH_INLINE V load_e4m3(const char* p) {
  const __m128i words = _mm_cvtepu8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  const __m128i all = _mm_set1_epi16(0x7f), magnitude = _mm_and_si128(words, all);
  const __m128i nan = _mm_and_si128(_mm_cmpeq_epi16(magnitude, all), _mm_set1_epi16(0x7c00));
  const __m128i sign = _mm_slli_epi16(_mm_xor_si128(words, magnitude), 8);
  return _mm256_cvtph_ps(_mm_or_si128(_mm_or_si128(_mm_slli_epi16(magnitude, 7), sign), nan)) * set(256);
}
HEARTH_INLINE V load_e5m2(const char* p) {
  return _mm256_cvtph_ps(_mm_slli_epi16(_mm_cvtepu8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))), 8));
}
HEARTH_INLINE V load_f16(const uint16_t* p) { return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
HEARTH_INLINE V load_bf16(const uint16_t* p) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))), 16));
}
HEARTH_INLINE void store_f16(uint16_t* p, V v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
HEARTH_INLINE void store_bf16(uint16_t* p, V v) {
  const __m256i bits = _mm256_castps_si256(v);
  const __m256i even = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(even, _mm256_set1_epi32(0x7fff))), 16);
  const __m256i nan = _mm256_or_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(0x40));
  const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
  const __m256i words = _mm256_blendv_epi8(rounded, nan, is_nan);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
}

HEARTH_INLINE void store_factor(uint16_t* p, V v) { store_bf16(p, v); }

HEARTH_INLINE __m128i load_bytes(const char* p) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)); }  // W bytes
HEARTH_INLINE V widen_i8(__m128i bytes) { return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)); }               // the first W bytes
HEARTH_INLINE V broadcast_f16(const void* p) {
  short bits;
  __builtin_memcpy(&bits, p, 2);
  return _mm256_cvtph_ps(_mm_set1_epi16(bits));
}

// Codes of 16 levels, and the values of the levels.
using Codes = __m256i;  // W codes, each in the low four bits of a lane
struct HighCodes {      // with zeros above the code
  __m256i codes;
};
struct EvenLevels {
  V step, lowest;
};
struct TableLevels {
  __m256i table;  // of bytes, twice
  V factor;
};
HEARTH_INLINE Codes codes(const char* bytes) { return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes))); }
HEARTH_INLINE HighCodes high_codes(Codes c) { return {_mm256_srli_epi32(c, 4)}; }
HEARTH_INLINE EvenLevels even_levels(V step, V lowest) { return {step, lowest}; }  // lowest + step · code
HEARTH_INLINE TableLevels table_levels(__m128i table, V factor) { return {_mm256_broadcastsi128_si256(table), factor}; }
HEARTH_INLINE V level(const EvenLevels& levels, Codes c) {
  return fma(_mm256_cvtepi32_ps(_mm256_and_si256(c, _mm256_set1_epi32(15))), levels.step, levels.lowest);
}
HEARTH_INLINE V level(const EvenLevels& levels, HighCodes c) { return fma(_mm256_cvtepi32_ps(c.codes), levels.step, levels.lowest); }

// Integer operations.
using I = __m256i;
HEARTH_INLINE I load_i(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
HEARTH_INLINE void store_i(void* p, I v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }
HEARTH_INLINE I zero_i() { return _mm256_setzero_si256(); }
HEARTH_INLINE I add(I a, I b) { return _mm256_add_epi32(a, b); }
HEARTH_INLINE I sub(I a, I b) { return _mm256_sub_epi32(a, b); }
template <int n> HEARTH_INLINE I times_power(I a) { return _mm256_slli_epi32(a, n); }  // 2ⁿ·a
HEARTH_INLINE I set_words(short x) { return _mm256_set1_epi16(x); }
template <int n> HEARTH_INLINE I shift_words(I a) {  // n bits to the right, or −n to the left
  if constexpr (n == 0) return a;
  else return n > 0 ? _mm256_srli_epi16(a, n > 0 ? n : 0) : _mm256_slli_epi16(a, n < 0 ? -n : 0);
}
template <int n> HEARTH_INLINE I signed_shift_words(I a) { return _mm256_srai_epi16(a, n); }
template <int n> HEARTH_INLINE I shift_dwords(I a) {  // n bits to the right, or −n to the left
  if constexpr (n == 0) return a;
  else return n > 0 ? _mm256_srli_epi32(a, n > 0 ? n : 0) : _mm256_slli_epi32(a, n < 0 ? -n : 0);
}
template <int n> HEARTH_INLINE I signed_shift_dwords(I a) { return _mm256_srai_epi32(a, n); }
HEARTH_INLINE I set_dwords(int x) { return _mm256_set1_epi32(x); }
HEARTH_INLINE I sub_words(I a, I b) { return _mm256_sub_epi16(a, b); }
HEARTH_INLINE I sub_bytes(I a, I b) { return _mm256_sub_epi8(a, b); }
HEARTH_INLINE I middle_words_swapped(I a) { return _mm256_shufflehi_epi16(_mm256_shufflelo_epi16(a, 0xd8), 0xd8); }  // of each four
HEARTH_INLINE I masked_or(I a, I mask, I b) { return (a & mask) | b; }
HEARTH_INLINE I set_pair(const int16_t* p) {
  int pair;
  __builtin_memcpy(&pair, p, sizeof pair);
  return _mm256_set1_epi32(pair);
}
// acc + products of 16-bit integers, two per lane
HEARTH_INLINE I dot(I acc, I a, I b) {
#ifdef __AVXVNNI__
  return _mm256_dpwssd_avx_epi32(acc, a, b);
#else
  return _mm256_add_epi32(acc, _mm256_madd_epi16(a, b));
#endif
}
// acc + products of unsigned and signed bytes, four per lane
#ifdef __AVXVNNI__
#define HEARTH_BYTE_DOTS
HEARTH_INLINE I dot_bytes(I acc, I a, I b) { return _mm256_dpbusd_avx_epi32(acc, a, b); }
#endif
// There are few registers: GCC would defer additions and keep both operands in memory, and copy the data at p there.
HEARTH_INLINE I at_once(I sum) {
  asm("" : "+x"(sum));
  return sum;
}
HEARTH_INLINE const int16_t* each_time(const int16_t* p) {
  asm("" : "+r"(p));
  return p;
}
struct SignedBytes {                      // 32 bytes at p, or two registers of words
  static constexpr bool in_order = true;  // the words are in order
  const char* p;
  I bytes() const { return load_i(p); }
  I first() const { return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
  I second() const { return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16))); }
};
HEARTH_INLINE I table_bytes(__m128i table, I places) { return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), places); }
HEARTH_INLINE V to_float(I a) { return _mm256_cvtepi32_ps(a); }
HEARTH_INLINE V halves_to_float(I a) {  // f16 in the lower words
  const I low = a & _mm256_set1_epi32(0xffff);
  return _mm256_cvtph_ps(_mm256_castsi256_si128(_mm256_permute4x64_epi64(_mm256_packus_epi32(low, low), 0x08)));
}
HEARTH_INLINE I to_whole(V a) { return _mm256_cvtps_epi32(a); }  // to nearest even
HEARTH_INLINE V as_floats(I a) { return _mm256_castsi256_ps(a); }
HEARTH_INLINE I as_integers(V a) { return _mm256_castps_si256(a); }
HEARTH_INLINE int sum_lanes(I a) {
  const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
  const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}
HEARTH_INLINE int largest_lane(I a, I b) {
  const I both = _mm256_max_epi32(a, b);
  const __m128i four = _mm_max_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
  const __m128i two = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_max_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}
HEARTH_INLINE void store_words(int16_t* p, I a, I b) {  // lanes fit in 16 bits
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_permute4x64_epi64(_mm256_packs_epi32(a, b), 0xd8));
}
HEARTH_INLINE void store_bytes(void* p, I a) {  // lanes fit in 8 bits
  const __m128i packed = _mm_packs_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
  _mm_storel_epi64(static_cast<__m128i*>(p), _mm_packs_epi16(packed, packed));
}
template <int i> HEARTH_INLINE I words(__m256i bytes) {  // register i of 32 bytes as 16-bit integers
  return _mm256_cvtepi8_epi16(i == 0 ? _mm256_castsi256_si128(bytes) : _mm256_extracti128_si256(bytes, 1));
}
HEARTH_INLINE I quarter_sums(I a, I b, I c, I d) {
  const I ab = add(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b)),
          cd = add(_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
  return add(_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd));
}
// The sums of the two quarters, of a and then of b.
HEARTH_INLINE I neighbors(I a, I b) { return add(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31)); }
// Sums of four registers' quarters, as returned by quarter_sums, in the order of units (integer_units.inl).
HEARTH_INLINE I units_of_twos(I a) { return _mm256_permutevar8x32_epi32(a, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)); }
HEARTH_INLINE I units_of_sixes(I a) { return units_of_twos(a); }
// The first 16 bytes at each of two addresses.
HEARTH_INLINE I quarters_at(const char* a, const char* b) {
  const auto at = [](const char* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); };
  return _mm256_set_m128i(at(b), at(a));
}
// The first 16 bytes at each of W addresses, `stride` apart: lane i of r[j] is dword j at address i.
HEARTH_INLINE void turn_quarters(const char* p, int64_t stride, I* r) {
  const auto two = [&](int i) { return quarters_at(p + i * stride, p + (4 + i) * stride); };
  const I a = two(0), b = two(1), c = two(2), d = two(3);
  const I low_ab = _mm256_unpacklo_epi32(a, b), high_ab = _mm256_unpackhi_epi32(a, b);
  const I low_cd = _mm256_unpacklo_epi32(c, d), high_cd = _mm256_unpackhi_epi32(c, d);
  r[0] = _mm256_unpacklo_epi64(low_ab, low_cd), r[1] = _mm256_unpackhi_epi64(low_ab, low_cd);
  r[2] = _mm256_unpacklo_epi64(high_ab, high_cd), r[3] = _mm256_unpackhi_epi64(high_ab, high_cd);
}
HEARTH_INLINE I both_quarters(const char* a, const char*) {  // the first 16 bytes, twice
  return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a)));
}
HEARTH_INLINE I odd_quarters_right4(I a) { return _mm256_blend_epi32(a, _mm256_srli_epi16(a, 4), 0xf0); }  // words
// Adds 16 to byte j of a quarter if bit j of the two bytes at `byte` of its 16 is set
template <int byte> HEARTH_INLINE I with_sixteens(I codes, I bits) {
  constexpr int64_t each = 0x0101010101010101;
  const I own = _mm256_shuffle_epi8(bits, _mm256_broadcastsi128_si256(_mm_set_epi64x((byte + 1) * each, byte * each)));
  const I bit = _mm256_set1_epi64x(int64_t(0x8040201008040201));
  return codes | (_mm256_cmpeq_epi8(own & bit, bit) & _mm256_set1_epi8(16));
}

// The 16-bit word at byte `at` of each of W blocks of `bytes`. Reads of a block start where that word falls into its lane, and end within
// the W blocks.
template <int bytes, int at> HEARTH_INLINE __m128i halves_of_blocks(const char* p) {
  if constexpr (bytes == 18) {  // two blocks at once, whose words are a register's half and a word apart
    const auto two = [&](int i) { return load_i(p + at + i * (2 * bytes - 4)); };
    const I low = _mm256_blend_epi32(two(0), two(1), 0x22), high = _mm256_blend_epi32(two(2), two(3), 0x88);
    const I all = _mm256_blend_epi32(low, high, 0xcc);
    return _mm_blend_epi16(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1), 0xaa);
  } else {
    const auto own = [&](int i) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + at + i * (bytes - 2))); };
    const __m128i a = _mm_blend_epi16(own(0), own(1), 0x02), b = _mm_blend_epi16(own(2), own(3), 0x08);
    const __m128i c = _mm_blend_epi16(own(4), own(5), 0x20), d = _mm_blend_epi16(own(6), own(7), 0x80);
    return _mm_blend_epi16(_mm_blend_epi16(a, b, 0x0c), _mm_blend_epi16(c, d, 0xc0), 0xf0);
  }
}
template <int bytes, int at> HEARTH_INLINE I dwords_of_blocks(const char* p) {
  const auto own = [&](int i) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + at + i * bytes - i % 4 * 4)); };
  const auto four = [&](int i) {
    return _mm_blend_epi32(_mm_blend_epi32(own(i), own(i + 1), 2), _mm_blend_epi32(own(i + 2), own(i + 3), 8), 12);
  };
  return _mm256_set_m128i(four(4), four(0));
}
HEARTH_INLINE V widen_words(__m128i halves) { return _mm256_cvtph_ps(halves); }
// 2ᵉ⁻¹²⁸ with e the first byte of each of W blocks of 17
HEARTH_INLINE V powers_of_blocks(const char* p) {
  const I e = _mm256_cvtepu16_epi32(halves_of_blocks<17, 0>(p)) & _mm256_set1_epi32(0xff);
  const I small = _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), e),
          usual = _mm256_slli_epi32(_mm256_sub_epi32(e, _mm256_set1_epi32(1)), 23);
  return as_floats(_mm256_blendv_epi8(usual, small, _mm256_cmpgt_epi32(_mm256_set1_epi32(2), e)));
}
constexpr bool soon_into_l1 = false;  // prefetch what row_dots reads next; NOLINT(misc-definitions-in-headers)
// Rows of a tile of integers: 10 accumulators, 2 of codes, 1 of x, 1 of products at most.
constexpr int integer_height = 5, integer_height_step = 1;  // NOLINT(misc-definitions-in-headers)

constexpr int dot_height = 3, dot_width = 4;  // 12 accumulators, 3 of x, 1 of w; NOLINT(misc-definitions-in-headers)
constexpr int tile_height = 6;                // 12 accumulators, 2 of b, 1 of a; NOLINT(misc-definitions-in-headers)
// A step of a tile is 20 instructions and 6 cycles of multiply-adds: next to a busy hyper-thread there is no room for prefetches.
constexpr bool fetches_panels = false;  // NOLINT(misc-definitions-in-headers)
constexpr int steps_unrolled = 4;       // NOLINT(misc-definitions-in-headers)

}  // namespace
}  // namespace hearth::cpu
