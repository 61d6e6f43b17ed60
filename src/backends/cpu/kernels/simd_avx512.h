// AVX-512 (F, BW, VL, DQ) with F16C: the primitives of the kernels. simd_avx2.h has the same for AVX2.
#pragma once

#include <immintrin.h>
#include <stdint.h>

#define HEARTH_INLINE static inline __attribute__((always_inline))

namespace hearth::cpu {
namespace {

using V = __m512;      // arithmetic by operators
using M = __mmask16;   // one bit for each lane
constexpr int W = 16;  // NOLINT(misc-definitions-in-headers)

HEARTH_INLINE V set(float x) { return _mm512_set1_ps(x); }
HEARTH_INLINE V zero() { return _mm512_setzero_ps(); }
HEARTH_INLINE V load(const float* p) { return _mm512_loadu_ps(p); }
HEARTH_INLINE void store(float* p, V v) { _mm512_storeu_ps(p, v); }
HEARTH_INLINE M first_lanes(int64_t n) { return M((1u << n) - 1); }  // n < W
HEARTH_INLINE V load_n(const float* p, int64_t n) { return _mm512_maskz_loadu_ps(first_lanes(n), p); }
HEARTH_INLINE void store_n(float* p, int64_t n, V v) { _mm512_mask_storeu_ps(p, first_lanes(n), v); }

HEARTH_INLINE V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }    // a·b + c
HEARTH_INLINE V fnma(V a, V b, V c) { return _mm512_fnmadd_ps(a, b, c); }  // c − a·b
// If an operand is NaN, the result is the second operand.
HEARTH_INLINE V max(V a, V b) { return _mm512_max_ps(a, b); }
HEARTH_INLINE V min(V a, V b) { return _mm512_min_ps(a, b); }
HEARTH_INLINE V sqrt(V a) { return _mm512_sqrt_ps(a); }
HEARTH_INLINE V abs(V a) { return _mm512_abs_ps(a); }
HEARTH_INLINE V round(V a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
HEARTH_INLINE V times_power_of_two(V a, V n) { return _mm512_scalef_ps(a, n); }  // n integer
HEARTH_INLINE M less(V a, V b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
HEARTH_INLINE M is_nan(V a) { return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q); }
HEARTH_INLINE V select(M m, V yes, V no) { return _mm512_mask_blend_ps(m, no, yes); }
HEARTH_INLINE float max_lanes(V a) { return _mm512_reduce_max_ps(a); }
HEARTH_INLINE float sum_lanes(V a) { return _mm512_reduce_add_ps(a); }
// Sums of all lanes in one fixed order: first four registers within each quarter, then the quarters of four of those.
HEARTH_INLINE V quarter_sums(V a, V b, V c, V d) {
  const V ab = _mm512_unpacklo_ps(a, b) + _mm512_unpackhi_ps(a, b), cd = _mm512_unpacklo_ps(c, d) + _mm512_unpackhi_ps(c, d);
  const __m512d lo = _mm512_castps_pd(ab), hi = _mm512_castps_pd(cd);
  return _mm512_castpd_ps(_mm512_unpacklo_pd(lo, hi)) + _mm512_castpd_ps(_mm512_unpackhi_pd(lo, hi));
}
constexpr int quarters = 4;              // results of quarter_sums that lane_sums reads; NOLINT(misc-definitions-in-headers)
HEARTH_INLINE V lane_sums(const V* u) {  // 16 sums
  const V a = _mm512_shuffle_f32x4(u[0], u[1], 0x88) + _mm512_shuffle_f32x4(u[0], u[1], 0xdd);
  const V b = _mm512_shuffle_f32x4(u[2], u[3], 0x88) + _mm512_shuffle_f32x4(u[2], u[3], 0xdd);
  return _mm512_shuffle_f32x4(a, b, 0x88) + _mm512_shuffle_f32x4(a, b, 0xdd);
}

// r[i] lane j → r[j] lane i
HEARTH_INLINE void turn(V* r) {
  V t[16], u[16];
  for (int i = 0; i < 16; i += 2) t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]), t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  for (int i = 0; i < 16; i += 4)
    for (int j = 0; j < 2; ++j) {
      const __m512d a = _mm512_castps_pd(t[i + j]), b = _mm512_castps_pd(t[i + j + 2]);
      u[i + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
      u[i + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
    }
  for (int j = 0; j < 4; ++j) {
    const V a = _mm512_shuffle_f32x4(u[j], u[j + 4], 0x88), b = _mm512_shuffle_f32x4(u[j + 8], u[j + 12], 0x88);
    const V c = _mm512_shuffle_f32x4(u[j], u[j + 4], 0xdd), d = _mm512_shuffle_f32x4(u[j + 8], u[j + 12], 0xdd);
    r[j] = _mm512_shuffle_f32x4(a, b, 0x88), r[j + 8] = _mm512_shuffle_f32x4(a, b, 0xdd);
    r[j + 4] = _mm512_shuffle_f32x4(c, d, 0x88), r[j + 12] = _mm512_shuffle_f32x4(c, d, 0xdd);
  }
}

// r[i] word j → word i in column j, j < 32: r[i] becomes columns 16·⌊i / 8⌋ + i mod 8 and, in its upper half, eight columns further.
HEARTH_INLINE void turn_words(__m512i* r) {
  __m512i t[16], u[16];
  for (int i = 0; i < 16; i += 2) t[i] = _mm512_unpacklo_epi16(r[i], r[i + 1]), t[i + 1] = _mm512_unpackhi_epi16(r[i], r[i + 1]);
  for (int i = 0; i < 16; i += 4)
    for (int j = 0; j < 2; ++j) {
      u[i + 2 * j] = _mm512_unpacklo_epi32(t[i + j], t[i + j + 2]);
      u[i + 2 * j + 1] = _mm512_unpackhi_epi32(t[i + j], t[i + j + 2]);
    }
  const __m512i low = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), high = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  for (int j = 0; j < 4; ++j) {
    const __m512i a[2] = {_mm512_unpacklo_epi64(u[j], u[j + 4]), _mm512_unpackhi_epi64(u[j], u[j + 4])};
    const __m512i b[2] = {_mm512_unpacklo_epi64(u[j + 8], u[j + 12]), _mm512_unpackhi_epi64(u[j + 8], u[j + 12])};
    for (int i = 0; i < 2; ++i) {
      r[2 * j + i] = _mm512_permutex2var_epi64(a[i], low, b[i]);
      r[2 * j + i + 8] = _mm512_permutex2var_epi64(a[i], high, b[i]);
    }
  }
}

// Interleaved lanes.
HEARTH_INLINE V swapped_pairs(V a) { return _mm512_permute_ps(a, 0xb1); }
HEARTH_INLINE V first_of_pairs_negated(V a) { return _mm512_xor_ps(a, _mm512_castsi512_ps(_mm512_set1_epi64(int64_t(0x80000000)))); }
HEARTH_INLINE void doubled_lanes(V a, V* low, V* high) {  // a₀ a₀ a₁ a₁ …
  const __m512i own = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
  *low = _mm512_permutexvar_ps(own, a);
  *high = _mm512_permutexvar_ps(_mm512_add_epi32(own, _mm512_set1_epi32(8)), a);
}

HEARTH_INLINE V load_f16(const uint16_t* p) { return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))); }
HEARTH_INLINE V load_bf16(const uint16_t* p) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))), 16));
}
// 16 8-bit floats (core/dtype.h). As an f16 with the same fields, an e4m3 is 2⁻⁸ times its value; NaN has another exponent.
HEARTH_INLINE V load_e4m3(const char* p) {
  const __m256i words = _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  const __m256i all = _mm256_set1_epi16(0x7f), magnitude = _mm256_and_si256(words, all);
  const __m256i nan = _mm256_and_si256(_mm256_cmpeq_epi16(magnitude, all), _mm256_set1_epi16(0x7c00));
  const __m256i sign = _mm256_slli_epi16(_mm256_xor_si256(words, magnitude), 8);
  return _mm512_cvtph_ps(_mm256_or_si256(_mm256_or_si256(_mm256_slli_epi16(magnitude, 7), sign), nan)) * set(256);
}
HEARTH_INLINE V load_e5m2(const char* p) {
  return _mm512_cvtph_ps(_mm256_slli_epi16(_mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))), 8));
}
HEARTH_INLINE void store_f16(uint16_t* p, V v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
HEARTH_INLINE void store_bf16(uint16_t* p, V v) {
  const __m512i bits = _mm512_castps_si512(v);
  const __m512i even = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(bits, _mm512_add_epi32(even, _mm512_set1_epi32(0x7fff))), 16);
  const __m512i nan = _mm512_or_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(0x40));
  const __mmask16 is_nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(_mm512_mask_blend_epi32(is_nan, rounded, nan)));
}
// store_bf16 if subnormals may become zero.
HEARTH_INLINE void store_factor(uint16_t* p, V v) {
#ifdef __AVX512BF16__
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(v)));
#else
  store_bf16(p, v);
#endif
}

HEARTH_INLINE __m128i load_bytes(const char* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }  // W bytes
HEARTH_INLINE V widen_i8(__m128i bytes) { return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes)); }               // the first W bytes
HEARTH_INLINE V broadcast_f16(const void* p) {
  short bits;
  __builtin_memcpy(&bits, p, 2);
  return _mm512_cvtph_ps(_mm256_set1_epi16(bits));
}

// Codes of 16 levels, and the values of the levels.
using Codes = __m512i;  // W codes, each in the low four bits of a lane
using Levels = V;
HEARTH_INLINE Codes codes(const char* bytes) { return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes))); }
HEARTH_INLINE Codes high_codes(Codes c) { return _mm512_srli_epi32(c, 4); }
HEARTH_INLINE Levels even_levels(V step, V lowest) {  // lowest + step · code
  return fma(_mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), step, lowest);
}
HEARTH_INLINE Levels table_levels(__m128i table, V factor) { return widen_i8(table) * factor; }
HEARTH_INLINE V level(Levels levels, Codes c) { return _mm512_permutexvar_ps(c, levels); }

// Integer operations.
using I = __m512i;
HEARTH_INLINE I load_i(const void* p) { return _mm512_loadu_si512(p); }
HEARTH_INLINE void store_i(void* p, I v) { _mm512_storeu_si512(p, v); }
HEARTH_INLINE I zero_i() { return _mm512_setzero_si512(); }
HEARTH_INLINE I add(I a, I b) { return _mm512_add_epi32(a, b); }
HEARTH_INLINE I sub(I a, I b) { return _mm512_sub_epi32(a, b); }
template <int n> HEARTH_INLINE I times_power(I a) { return _mm512_slli_epi32(a, n); }  // 2ⁿ·a
HEARTH_INLINE I set_words(short x) { return _mm512_set1_epi16(x); }
template <int n> HEARTH_INLINE I shift_words(I a) {  // n bits to the right, or −n to the left
  if constexpr (n == 0) return a;
  else return n > 0 ? _mm512_srli_epi16(a, n > 0 ? n : 0) : _mm512_slli_epi16(a, n < 0 ? -n : 0);
}
template <int n> HEARTH_INLINE I signed_shift_words(I a) { return _mm512_srai_epi16(a, n); }
template <int n> HEARTH_INLINE I shift_dwords(I a) {  // n bits to the right, or −n to the left
  if constexpr (n == 0) return a;
  else return n > 0 ? _mm512_srli_epi32(a, n > 0 ? n : 0) : _mm512_slli_epi32(a, n < 0 ? -n : 0);
}
template <int n> HEARTH_INLINE I signed_shift_dwords(I a) { return _mm512_srai_epi32(a, n); }
HEARTH_INLINE I set_dwords(int x) { return _mm512_set1_epi32(x); }
HEARTH_INLINE I sub_words(I a, I b) { return _mm512_sub_epi16(a, b); }
HEARTH_INLINE I sub_bytes(I a, I b) { return _mm512_sub_epi8(a, b); }
HEARTH_INLINE I middle_words_swapped(I a) { return _mm512_shufflehi_epi16(_mm512_shufflelo_epi16(a, 0xd8), 0xd8); }  // of each four
HEARTH_INLINE I masked_or(I a, I mask, I b) { return _mm512_ternarylogic_epi32(a, mask, b, 0xea); }                  // (a & mask) | b
HEARTH_INLINE I set_pair(const int16_t* p) {
  int pair;
  __builtin_memcpy(&pair, p, sizeof pair);
  return _mm512_set1_epi32(pair);
}
// acc + products of 16-bit integers, two per lane
HEARTH_INLINE I dot(I acc, I a, I b) {
#ifdef __AVX512VNNI__
  return _mm512_dpwssd_epi32(acc, a, b);
#else
  return _mm512_add_epi32(acc, _mm512_madd_epi16(a, b));
#endif
}
// acc + products of unsigned and signed bytes, four per lane
#ifdef __AVX512VNNI__
#define HEARTH_BYTE_DOTS
HEARTH_INLINE I dot_bytes(I acc, I a, I b) { return _mm512_dpbusd_epi32(acc, a, b); }
#endif
HEARTH_INLINE I at_once(I sum) { return sum; }  // GCC decides: there are enough registers
HEARTH_INLINE const int16_t* each_time(const int16_t* p) { return p; }
struct SignedBytes {  // or two registers of words: the even and the odd ones
  static constexpr bool in_order = false;
  I bits;
  I bytes() const { return bits; }
  I first() const { return _mm512_srai_epi16(_mm512_slli_epi16(bits, 8), 8); }
  I second() const { return _mm512_srai_epi16(bits, 8); }
};
HEARTH_INLINE I table_bytes(__m128i table, I places) { return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(table), places); }
HEARTH_INLINE V to_float(I a) { return _mm512_cvtepi32_ps(a); }
HEARTH_INLINE V halves_to_float(I a) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(a)); }  // f16 in the lower words
HEARTH_INLINE I to_whole(V a) { return _mm512_cvtps_epi32(a); }                             // to nearest even
HEARTH_INLINE V as_floats(I a) { return _mm512_castsi512_ps(a); }
HEARTH_INLINE I as_integers(V a) { return _mm512_castps_si512(a); }
HEARTH_INLINE int sum_lanes(I a) { return _mm512_reduce_add_epi32(a); }
HEARTH_INLINE int largest_lane(I a, I b) { return _mm512_reduce_max_epi32(_mm512_max_epi32(a, b)); }
HEARTH_INLINE void store_words(int16_t* p, I a, I b) {  // lanes fit in 16 bits
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(a));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + W), _mm512_cvtepi32_epi16(b));
}
HEARTH_INLINE void store_bytes(void* p, I a) {  // lanes fit in 8 bits
  _mm_storeu_si128(static_cast<__m128i*>(p), _mm512_cvtepi32_epi8(a));
}
template <int i> HEARTH_INLINE I words(__m256i bytes) { return _mm512_cvtepi8_epi16(bytes); }  // register i of 32 bytes as 16-bit integers
HEARTH_INLINE I quarter_sums(I a, I b, I c, I d) {
  const I ab = add(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b)),
          cd = add(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
  return add(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
}
// The sums of neighboring quarters, of a and then of b.
HEARTH_INLINE I neighbors(I a, I b) { return add(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xdd)); }
// Sums of four registers' quarters, as returned by quarter_sums, in the order of units (integer_units.inl).
HEARTH_INLINE I units_of_twos(I a) {
  return _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15), a);
}
HEARTH_INLINE I units_of_sixes(I a) {
  return _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), a);
}

// The first 16 bytes at each of four addresses.
HEARTH_INLINE I quarters_at(const char* a, const char* b, const char* c, const char* d) {
  const auto at = [](const char* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); };
  const __m512i ab = _mm512_inserti32x4(_mm512_castsi128_si512(at(a)), at(b), 1);
  return _mm512_inserti32x4(_mm512_inserti32x4(ab, at(c), 2), at(d), 3);
}
HEARTH_INLINE I halves_at(const char* a, const char* b) {  // the first 32 bytes at each of two addresses
  const auto at = [](const char* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); };
  return _mm512_inserti64x4(_mm512_castsi256_si512(at(a)), at(b), 1);
}
// The first 16 bytes at each of W addresses, `stride` apart: lane i of r[j] is dword j at address i.
HEARTH_INLINE void turn_quarters(const char* p, int64_t stride, I* r) {
  const auto four = [&](int i) {
    const char* const at = p + i * stride;
    return quarters_at(at, at + 4 * stride, at + 8 * stride, at + 12 * stride);
  };
  const I a = four(0), b = four(1), c = four(2), d = four(3);
  const I low_ab = _mm512_unpacklo_epi32(a, b), high_ab = _mm512_unpackhi_epi32(a, b);
  const I low_cd = _mm512_unpacklo_epi32(c, d), high_cd = _mm512_unpackhi_epi32(c, d);
  r[0] = _mm512_unpacklo_epi64(low_ab, low_cd), r[1] = _mm512_unpackhi_epi64(low_ab, low_cd);
  r[2] = _mm512_unpacklo_epi64(high_ab, high_cd), r[3] = _mm512_unpackhi_epi64(high_ab, high_cd);
}
// 16 bytes at each of two addresses, twice each
HEARTH_INLINE I both_quarters(const char* a, const char* b) {
  const auto at = [](const char* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); };
  return _mm512_mask_broadcast_i32x4(_mm512_broadcast_i32x4(at(a)), 0xff00, at(b));
}
HEARTH_INLINE I odd_quarters_right4(I a) {  // words
  return _mm512_srlv_epi16(a, _mm512_set4_epi64(0x0004000400040004, 0x0004000400040004, 0, 0));
}
template <int n> HEARTH_INLINE I upper_half_right(I a) {  // words
  return _mm512_srlv_epi16(a, _mm512_inserti64x4(_mm512_setzero_si512(), _mm256_set1_epi16(n), 1));
}
// Adds 16 to byte j of a quarter if bit j of the two bytes at `byte` of its 16 is set
template <int byte> HEARTH_INLINE I with_sixteens(I codes, I bits) {
  constexpr int64_t each = 0x0101010101010101;
  const I own = _mm512_shuffle_epi8(bits, _mm512_broadcast_i32x4(_mm_set_epi64x((byte + 1) * each, byte * each)));
  return _mm512_mask_add_epi8(codes, _mm512_test_epi8_mask(own, _mm512_set1_epi64(int64_t(0x8040201008040201))), codes,
                              _mm512_set1_epi8(16));
}

// `words` 16-bit words from byte `at` of each of eight blocks of `bytes`. If `at` is odd, the word that contains the byte.
template <int bytes, int at, int words> HEARTH_INLINE __m256i words_of_eight(const char* p) {
  // Registers are loaded at bytes 0 and 64 and, if that is not enough, one more or, for long blocks, two more.
  constexpr bool two_more = 8 * bytes > 192;
  constexpr int third = two_more ? 128 : 8 * bytes - 64;
  struct Places {
    constexpr Places() {
      for (int i = 0; i < 8 * words; ++i) {
        const int begin = (i / words * bytes + at + i % words * 2) / 2 * 2;
        if (begin + 2 <= 128) first[i] = int16_t(begin / 2);
        else last[i] = int16_t((begin - third) / 2), in_last |= 1u << i;
      }
    }
    alignas(64) int16_t first[32] = {}, last[32] = {};
    uint32_t in_last = 0;
  };
  static constexpr Places places;
  I found = _mm512_permutex2var_epi16(load_i(p), load_i(places.first), load_i(p + 64));
  if constexpr (two_more) {
    const I rest = _mm512_permutex2var_epi16(load_i(p + third), load_i(places.last), load_i(p + third + 64));
    found = _mm512_mask_mov_epi16(found, places.in_last, rest);
  } else if constexpr (places.in_last != 0) {
    found = _mm512_mask_permutexvar_epi16(found, places.in_last, load_i(places.last), load_i(p + third));
  }
  return _mm512_castsi512_si256(found);
}
// The same for one word of each of W blocks
template <int bytes, int at> HEARTH_INLINE __m256i halves_of_blocks(const char* p) {
  const __m256i low = words_of_eight<bytes, at, 1>(p), high = words_of_eight<bytes, at, 1>(p + 8 * bytes);
  return _mm256_inserti128_si256(low, _mm256_castsi256_si128(high), 1);
}
template <int bytes, int at> HEARTH_INLINE I dwords_of_blocks(const char* p) {
  const __m256i low = words_of_eight<bytes, at, 2>(p), high = words_of_eight<bytes, at, 2>(p + 8 * bytes);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}
HEARTH_INLINE V widen_words(__m256i halves) { return _mm512_cvtph_ps(halves); }
// 2ᵉ⁻¹²⁸ with e the first byte of each of W blocks of 17
HEARTH_INLINE V powers_of_blocks(const char* p) {
  const __m256i own = _mm256_srlv_epi16(halves_of_blocks<17, 0>(p), _mm256_set1_epi32(0x00080000));
  const I e = _mm512_cvtepu16_epi32(own) & _mm512_set1_epi32(0xff), small = _mm512_sllv_epi32(_mm512_set1_epi32(0x00200000), e);
  const I usual = _mm512_slli_epi32(_mm512_sub_epi32(e, _mm512_set1_epi32(1)), 23);
  return as_floats(_mm512_mask_blend_epi32(_mm512_cmplt_epi32_mask(e, _mm512_set1_epi32(2)), usual, small));
}
constexpr bool soon_into_l1 = true;  // prefetch what row_dots reads next; NOLINT(misc-definitions-in-headers)
// Rows of a tile of integers: 24 accumulators, 2 of codes, 1 of x at most.
constexpr int integer_height = 12, integer_height_step = 2;  // NOLINT(misc-definitions-in-headers)

constexpr int dot_height = 4, dot_width = 6;  // 24 accumulators, 4 of x, 1 of w; NOLINT(misc-definitions-in-headers)
constexpr int tile_height = 14;               // 28 accumulators, 2 of b, 1 of a; NOLINT(misc-definitions-in-headers)
constexpr bool fetches_panels = true;         // both sides of a tile are in L2; NOLINT(misc-definitions-in-headers)
constexpr int steps_unrolled = 1;             // of k in a tile; NOLINT(misc-definitions-in-headers)

}  // namespace
}  // namespace hearth::cpu
