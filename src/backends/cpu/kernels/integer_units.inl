// Σ code · q over the units of a row in exact integers, and the scales of units. Included once by each instruction set.

namespace hearth::cpu {
namespace {

// Without it, GCC keeps the operands of such lambdas in memory.
#define HEARTH_LAMBDA __attribute__((always_inline))

constexpr int pieces = 32 / W;       // registers of f32 in 32 values
constexpr int word_pieces = 16 / W;  // registers of 16-bit integers in 32 values
#ifdef HEARTH_BYTE_DOTS
constexpr bool byte_dots = true;
#else
constexpr bool byte_dots = false;
#endif

// A step is W units or a block, whichever is larger.
template <class F> struct Step {
  static constexpr int units_of_block = int(F::values) / F::unit;
  static constexpr int blocks = units_of_block < W ? W / units_of_block : 1;
  static constexpr int vectors = blocks * units_of_block / W;  // of W units
  static constexpr int64_t values = blocks * F::values, bytes = blocks * F::bytes;
};

// Registers of codes in bytes are summed in the order in which the fields of the file's bytes yield them, and q is stored in that order
// (`place`). A register holds quarters of 16 bytes: four, or two with AVX2. quarter_sums reduces four registers to the sums of W units.
enum class Order {
  natural,  // whole bytes
  halves,   // 32 values in 16 bytes, the first 16 in the low four bits
  pairs,    // a unit in the low and one in the high four bits of 32 bytes
  twos,     // 128 values in the two-bit fields of 32 bytes
  sixes,    // 128 values in the low and high four bits of 64 bytes, and the two-bit fields of 32
  sixteens  // units of 16 in order, from codebooks
};
template <class F, class... Others> constexpr bool one_of = (__is_same(F, Others) || ...);
template <class F> constexpr bool has_grid = one_of<F, RowIq2Xxs, RowIq2Xs, RowIq2S, RowIq3Xxs, RowIq3S, RowIq1S, RowIq1M>;
template <class F>
constexpr Order order_of = has_grid<F> ? (F::unit == 16 ? Order::sixteens : Order::halves)
                           : one_of<F, RowQ40, RowQ41, RowQ50, RowQ51, RowIq4Nl, RowIq4Xs, RowMxfp4> ? Order::halves
                           : one_of<F, RowQ4K, RowQ5K>                                               ? Order::pairs
                           : one_of<F, RowQ2K, RowQ3K>                                               ? Order::twos
                           : one_of<F, RowQ6K>                                                       ? Order::sixes
                                                                                                     : Order::natural;

// The index within a step of the first of the 16 values of q that are multiplied with a quarter of register c of codes.
template <class F> constexpr int place(int c, int quarter) {
  switch (order_of<F>) {
    case Order::halves: return (4 * quarter + c / 2) * 32 + c % 2 * 16;
    case Order::pairs: return (4 * quarter + c / 4 * 2 + c % 2) * 32 + c / 2 % 2 * 16;
    case Order::twos: return (c / 4 + quarter / 2) * 128 + c % 4 * 32 + quarter % 2 * 16;
    case Order::sixes: {
      const int half = W == 16 ? c / 2 : c / 4, part = W == 16 ? quarter : c / 2 % 2 * 2 + quarter;
      return half * 128 + c % 2 * 64 + part * 16;
    }
    case Order::sixteens: return (c / 4 * 8 + 4 * quarter + c % 4) * 16;
    case Order::natural: break;
  }
  return W == 16 ? (c / 4 * 8 + c % 4 + quarter / 2 * 4) * 32 + quarter % 2 * 16 : c * 32 + quarter * 16;
}

// Other formats have unsigned codes in between, or made from signed ones; offset_bits is the offset that is subtracted at the end, as a
// power of two. A table can have either: unsigned bytes become words with fewer instructions.
template <class F> constexpr bool has_table = one_of<F, RowIq4Nl, RowIq4Xs, RowMxfp4>;
template <class F> constexpr bool has_signed_codes = one_of<F, RowQ80> || (byte_dots && (has_table<F> || has_grid<F>));
template <class F>
constexpr int offset_bits = one_of<F, RowQ3K>   ? 2
                            : one_of<F, RowQ40> ? 3
                            : one_of<F, RowQ50> ? 4
                            : one_of<F, RowQ6K> ? 5
                            : has_table<F>      ? 7
                            : has_grid<F>       ? 7
                                                : 0;
template <class F> HEARTH_INLINE __m128i table_of() {
  const __m128i codes = one_of<F, RowMxfp4> ? doubled_e2m1() : iq4_codes();
  return has_signed_codes<F> ? codes : _mm_xor_si128(codes, _mm_set1_epi8(-128));
}

// Stores 16 values of q for a quarter of a register of codes, whose values begin at `to`. With dot products of bytes, all high digits of
// q = 256 · high + low, low ≥ 0, precede the low ones; else the factors of the first words of the codes precede those of the second ones.
template <class F> HEARTH_INLINE void put_quarter(const int16_t* q, int quarter, int16_t* to) {
  const __m256i all = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(q));
  // The bytes of each half in two runs of eight, then the runs of both halves together.
  const auto in_two = [&](__m128i order) HEARTH_LAMBDA {
    return _mm256_permute4x64_epi64(_mm256_shuffle_epi8(all, _mm256_broadcastsi128_si256(order)), 0xd8);
  };
  const auto put = [&](__m256i both, auto* first, auto* second) HEARTH_LAMBDA {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(first), _mm256_castsi256_si128(both));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(second), _mm256_extracti128_si256(both, 1));
  };
  if constexpr (byte_dots) {
    auto* const high = reinterpret_cast<int8_t*>(to) + 16 * quarter;
    put(in_two(_mm_setr_epi8(1, 3, 5, 7, 9, 11, 13, 15, 0, 2, 4, 6, 8, 10, 12, 14)), high, high + 4 * W);
  } else if constexpr (has_signed_codes<F> && SignedBytes::in_order) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 16 * quarter), all);
  } else {
    put(in_two(_mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15)), to + 8 * quarter, to + 2 * W + 8 * quarter);
  }
}

// What must be subtracted from Σ code · q of a unit, in types without a least value. `sum` is Σ q of the unit.
template <class F> constexpr bool is_corrected = !F::least && (byte_dots || !has_signed_codes<F>);
template <class F> HEARTH_INLINE int32_t correction(const int16_t* q, int32_t sum) {
  if constexpr (!has_signed_codes<F>) return sum * (1 << offset_bits<F>);
  int32_t high = 0;  // codes are 128 too large when multiplied with the high digits
  for (int i = 0; i < F::unit; ++i) high += q[i] >> 8;
  return high * 32768;
}

// A register of codes: as bytes, or as two registers of words.
struct Bytes {
  I bits;
  I bytes() const { return bits; }
  I first() const { return bits & set_words(0xff); }
  I second() const { return shift_words<8>(bits); }
};
// `width` bits of each byte, starting at bit `at`.
template <int at, int width> struct Fields {
  static constexpr short mask = (1 << width) - 1;
  I bits;
  I bytes() const { return shift_words<at>(bits) & set_words(mask * 0x101); }
  I first() const { return shift_words<at>(bits) & set_words(mask); }
  I second() const {
    const I words = shift_words<8 + at>(bits);
    return at + width == 8 ? words : words & set_words(mask);
  }
};

// Σ code · q for the four bytes of each lane, where `codes` are registers c ….
template <class F, int... c, class... Codes> HEARTH_INLINE I code_sums(const int16_t* q, Codes... codes) {
  I sum = zero_i();
#ifdef HEARTH_BYTE_DOTS
  const I wrong_sign = set_words(short(0x8080));
  ((sum = dot_bytes(sum, has_signed_codes<F> ? codes.bytes() ^ wrong_sign : codes.bytes(), load_i(q + c * 4 * W))), ...);
  sum = times_power<8>(sum);
  ((sum = dot_bytes(sum, load_i(q + c * 4 * W + 2 * W), codes.bytes())), ...);
#else
  ((sum = dot(dot(sum, codes.first(), load_i(q + c * 4 * W)), codes.second(), load_i(q + c * 4 * W + 2 * W))), ...);
#endif
  return at_once(sum);
}

// The sums of four words for each of 4 · quarters units.
template <class F> HEARTH_INLINE I sums_by_halves(const char* p, const int16_t* q) {
  constexpr int in_block = Step<F>::units_of_block;
  constexpr bool fifth = one_of<F, RowQ50, RowQ51>;
  I fifths = zero_i(), sums[4];
  if constexpr (fifth) fifths = dwords_of_blocks<F::bytes, F::fifths_at>(p);
  unroll<4>([&](auto part) HEARTH_LAMBDA {
    const auto at = [&](int unit) HEARTH_LAMBDA { return p + unit / in_block * F::bytes + F::codes_at + unit % in_block * 16; };
#ifdef __AVX512F__
    const I bits = quarters_at(at(part), at(4 + part), at(8 + part), at(12 + part));
#else
    const I bits = quarters_at(at(part), at(4 + part));
#endif
    const Fields<0, 4> low{bits};
    const Fields<4, 4> high{bits};
    const auto add = [&](auto a, auto b) HEARTH_LAMBDA { sums[part] = code_sums<F, 2 * part, 2 * part + 1>(q, a, b); };
    if constexpr (has_table<F>) add(Bytes{table_bytes(table_of<F>(), low.bytes())}, Bytes{table_bytes(table_of<F>(), high.bytes())});
    else if constexpr (fifth)
      add(Bytes{with_sixteens<4 * part>(low.bytes(), fifths)}, Bytes{with_sixteens<4 * part + 2>(high.bytes(), fifths)});
    else add(low, high);
  });
  return quarter_sums(sums[0], sums[1], sums[2], sums[3]);
}

template <class F> HEARTH_INLINE I sums_by_pairs(const char* p, const int16_t* q) {
  I sums[4], fifths[2];
  // Moves the bits of units u and u + 4, which are in neighboring quarters, to the same bit positions.
  if constexpr (one_of<F, RowQ5K>)
    unroll<2>([&](auto i) HEARTH_LAMBDA { fifths[i] = odd_quarters_right4(both_quarters(p + 16 + i * 16, p + F::bytes + 16 + i * 16)); });
  unroll<2>([&](auto pair) HEARTH_LAMBDA {
    I bits[2];
    unroll<2>([&](auto i) HEARTH_LAMBDA {
      const char* at = p + F::codes_at + pair * 32 + i * 16;
#ifdef __AVX512F__
      bits[i] = quarters_at(at, at + 64, at + F::bytes, at + F::bytes + 64);
#else
      bits[i] = quarters_at(at, at + 64);
#endif
    });
    // Units in the low and in the high four bits.
    const auto add = [&](auto low, auto high) HEARTH_LAMBDA {
      sums[2 * pair] = code_sums<F, 4 * pair, 4 * pair + 2>(q, low(0), low(1));
      sums[2 * pair + 1] = code_sums<F, 4 * pair + 1, 4 * pair + 3>(q, high(0), high(1));
    };
    if constexpr (one_of<F, RowQ5K>) {
      const I four = set_words(0x0f0f), bit = set_words(0x1010);
      add([&](int i) HEARTH_LAMBDA { return Bytes{masked_or(bits[i], four, shift_words<2 * pair - 4>(fifths[i]) & bit)}; },
          [&](int i) HEARTH_LAMBDA { return Bytes{masked_or(shift_words<4>(bits[i]), four, shift_words<2 * pair - 3>(fifths[i]) & bit)}; });
    } else {
      add([&](int i) HEARTH_LAMBDA { return Fields<0, 4>{bits[i]}; }, [&](int i) HEARTH_LAMBDA { return Fields<4, 4>{bits[i]}; });
    }
  });
  return quarter_sums(sums[0], sums[1], sums[2], sums[3]);
}

// 32 bytes for both halves of a block, whose fields are `bits` bits apart, moved to the same bit positions.
template <int vector, int bits> HEARTH_INLINE I fields_of_halves(const char* p) {
#ifdef __AVX512F__
  return upper_half_right<bits>(_mm512_broadcast_i64x4(bytes32(p)));
#else
  return shift_words<vector * bits>(bytes32(p));
#endif
}

template <class F, int vector> HEARTH_INLINE I sums_by_twos(const char* p, const int16_t* q) {
  const I bits = load_i(p + F::codes_at + vector * 32);
  I sums[4], third = zero_i();
  if constexpr (one_of<F, RowQ3K>) third = fields_of_halves<vector, 4>(p);
  unroll<4>([&](auto i) HEARTH_LAMBDA {
    const Fields<2 * i, 2> codes{bits};
    if constexpr (one_of<F, RowQ3K>) sums[i] = code_sums<F, i>(q, Bytes{codes.bytes() | (shift_words<i - 2>(third) & set_words(0x0404))});
    else sums[i] = code_sums<F, i>(q, codes);
  });
  return units_of_twos(quarter_sums(sums[0], sums[1], sums[2], sums[3]));
}

template <class F, int vector> HEARTH_INLINE I sums_by_sixes(const char* p, const int16_t* q) {
  I sums[4];
  unroll<2>([&](auto i) HEARTH_LAMBDA {
    // Half i of the block, or of its half `vector`.
    const I bits = load_i(p + (W == 16 ? i * 64 : vector * 64 + i * 32)), four = set_words(0x0f0f), two = set_words(0x3030);
#ifdef __AVX512F__
    const I upper = upper_half_right<2>(_mm512_broadcast_i64x4(bytes32(p + 128 + i * 32)));
#else
    const I upper = shift_words<2 * i>(bytes32(p + 128 + vector * 32));
#endif
    const I low = masked_or(bits, four, shift_words<-4>(upper) & two), high = masked_or(shift_words<4>(bits), four, upper & two);
    sums[W == 16 ? 2 * i : i] = code_sums<F, 2 * i>(q, Bytes{low});
    sums[W == 16 ? 2 * i + 1 : i + 2] = code_sums<F, 2 * i + 1>(q, Bytes{high});
  });
  return units_of_sixes(quarter_sums(sums[0], sums[1], sums[2], sums[3]));
}

// Whole bytes, in units of 32.
template <class F> HEARTH_INLINE I sums_of_bytes(const char* p, const int16_t* q) {
  I half[2];
  unroll<2>([&](auto i) HEARTH_LAMBDA {
    I sum[4];
    unroll<4>([&](auto j) HEARTH_LAMBDA {
#ifdef __AVX512F__
      const char* at = p + (i * 8 + j) * F::bytes + F::codes_at;
      const SignedBytes codes{halves_at(at, at + 4 * F::bytes)};
#else
      const SignedBytes codes{p + (i * 4 + j) * F::bytes + F::codes_at};
#endif
      sum[j] = code_sums<F, i * 4 + j>(q, codes);
    });
    half[i] = quarter_sums(sum[0], sum[1], sum[2], sum[3]);
  });
  return neighbors(half[0], half[1]);
}

// The lower or the upper 16 bytes of parts of a row, as a register of codes.
template <class F, int half, class... Parts> HEARTH_INLINE Bytes halves_of(Parts... parts) {
  const __m256i all[] = {parts...};
  const auto pair = [](__m256i a, __m256i b) HEARTH_LAMBDA { return _mm256_permute2x128_si256(a, b, half == 0 ? 0x20 : 0x31); };
#ifdef __AVX512F__
  const I codes = _mm512_inserti64x4(_mm512_castsi256_si512(pair(all[0], all[1])), pair(all[2], all[3]), 1);
#else
  const I codes = pair(all[0], all[1]);
#endif
  return {has_signed_codes<F> ? codes : codes ^ set_words(short(0x8080))};
}

template <class F, int vector> HEARTH_INLINE I sums_of_grids(const char* p, const int16_t* q) {
  I sums[4];
  if constexpr (F::unit == 16) {
    unroll<2>([&](auto i) HEARTH_LAMBDA {
      const auto add = [&](auto... parts) HEARTH_LAMBDA {
        sums[2 * i] = code_sums<F, 2 * i>(q, halves_of<F, 0>(parts...));
        sums[2 * i + 1] = code_sums<F, 2 * i + 1>(q, halves_of<F, 1>(parts...));
      };
      constexpr int part = 4 * vector + i;
#ifdef __AVX512F__
      add(F::template codes_of<part>(p), F::template codes_of<part + 2>(p), F::template codes_of<part + 4>(p),
          F::template codes_of<part + 6>(p));
#else
      add(F::template codes_of<part>(p), F::template codes_of<part + 2>(p));
#endif
    });
  } else {
    unroll<4>([&](auto part) HEARTH_LAMBDA {
      const auto add = [&](auto... parts) HEARTH_LAMBDA {
        sums[part] = code_sums<F, 2 * part, 2 * part + 1>(q, halves_of<F, 0>(parts...), halves_of<F, 1>(parts...));
      };
#ifdef __AVX512F__
      const char* const next = p + F::bytes;
      add(F::template codes_of<part>(p), F::template codes_of<part + 4>(p), F::template codes_of<part>(next),
          F::template codes_of<part + 4>(next));
#else
      add(F::template codes_of<part>(p), F::template codes_of<part + 4>(p));
#endif
    });
  }
  return quarter_sums(sums[0], sums[1], sums[2], sums[3]);
}

// Σ code · q over each of W units of a step at p; s as returned by quantize_row.
template <class F, int vector> HEARTH_INLINE I unit_sums(const char* p, const int16_t* q, const int32_t* s) {
  constexpr Order order = order_of<F>;
  I sums;
  if constexpr (has_grid<F>) sums = sums_of_grids<F, vector>(p, q);
  else if constexpr (order == Order::halves) sums = sums_by_halves<F>(p, q);
  else if constexpr (order == Order::pairs) sums = sums_by_pairs<F>(p, q);
  else if constexpr (order == Order::twos) sums = sums_by_twos<F, vector>(p, q);
  else if constexpr (order == Order::sixes) sums = sums_by_sixes<F, vector>(p, q);
  else sums = sums_of_bytes<F>(p, q);
  if constexpr (is_corrected<F>) return sub(sums, load_i(s));
  else return sums;
}

// --- scales ------------------------------------------------------------------------------------------------------------

HEARTH_INLINE float half_at(const char* p) {
  uint16_t bits;
  __builtin_memcpy(&bits, p, sizeof bits);
  return _cvtsh_ss(bits);
}
HEARTH_INLINE float half_power(const char* p) {  // 2ᵉ⁻¹²⁸ of the mxfp4 block at p
  const uint32_t e = uint8_t(p[0]), bits = e < 2 ? 0x00200000u << e : (e - 1) << 23;
  float factor;
  __builtin_memcpy(&factor, &bits, sizeof factor);
  return factor;
}

// Steps and least values of W units of a step at p.
struct UnitScales {
  V step, least;
};

// Scales of W of the 16 units of a block: `bytes` times a factor.
template <int vector> HEARTH_INLINE V own_bytes(__m128i bytes, V factor) {
  return widen_i8(vector == 0 ? bytes : _mm_srli_si128(bytes, 8)) * factor;
}

// The same for as many blocks of eight units as fill a register: as ScalesK4 and ScalesIq4Xs, two at once with AVX-512.
template <class F> HEARTH_INLINE UnitScales scales_of_eights(const char* p) {
#ifdef __AVX512F__
  const __m128 factors = _mm_cvtph_ps(_mm_insert_epi32(_mm_cvtsi32_si128(int(word(p))), int(word(p + F::bytes)), 1));
  const __m512i own = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2);
  const V d = _mm512_permutexvar_ps(own, _mm512_castps128_ps512(factors));
  if constexpr (F::least) {
    const __m256i bits = _mm256_set_m128i(bytes16(p + F::bytes + 4), bytes16(p + 4));
    const __m256i low = _mm256_and_si256(_mm256_srlv_epi32(_mm256_shuffle_epi32(bits, 0x98), _mm256_setr_epi32(0, 0, 0, 4, 0, 0, 0, 4)),
                                         _mm256_set1_epi64x(0x0f0f0f0f3f3f3f3f));
    const __m256i high = _mm256_and_si256(_mm256_srli_epi32(_mm256_shuffle_epi32(bits, 0x50), 2), _mm256_set1_epi64x(0x3030303000000000));
    const __m256i all = _mm256_permute4x64_epi64(_mm256_or_si256(low, high), 0xd8);
    const V least = _mm512_permutexvar_ps(_mm512_add_epi32(own, _mm512_set1_epi32(1)), _mm512_castps128_ps512(factors));
    return {widen_i8(_mm256_castsi256_si128(all)) * d, widen_i8(_mm256_extracti128_si256(all, 1)) * -least};
  } else {
    const auto of_both = [&](int at) HEARTH_LAMBDA {
      return _mm512_mask_set1_epi32(_mm512_set1_epi32(int(word(p + at))), 0xff00, int(word(p + F::bytes + at)));
    };
    const __m512i places = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
    const __m512i high_places = _mm512_setr_epi32(16, 18, 20, 22, 24, 26, 28, 30, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i high = _mm512_srlv_epi32(of_both(0), high_places) & _mm512_set1_epi32(3);
    const __m512i six = masked_or(_mm512_srlv_epi32(of_both(4), places), _mm512_set1_epi32(15), _mm512_slli_epi32(high, 4));
    return {_mm512_cvtepi32_ps(_mm512_sub_epi32(six, _mm512_set1_epi32(32))) * d, zero()};
  }
#else
  if constexpr (F::least) {
    const EightScales own = scales_k4(p);
    return {own.step, own.lowest};
  } else {
    return {scales_iq4xs(p), zero()};
  }
#endif
}

template <class F, int vector> HEARTH_INLINE UnitScales unit_scales(const char* p) {
  if constexpr (has_grid<F> && F::unit == 16) {
    return {own_bytes<vector>(F::scale_bytes(p), set(F::factor(p))), zero()};
  } else if constexpr (has_grid<F>) {
#ifdef __AVX512F__
    const V factor = _mm512_mask_mov_ps(set(F::factor(p)), 0xff00, set(F::factor(p + F::bytes)));
    return {widen_i8(_mm_unpacklo_epi64(F::scale_bytes(p), F::scale_bytes(p + F::bytes))) * factor, zero()};
#else
    return {widen_i8(F::scale_bytes(p)) * set(F::factor(p)), zero()};
#endif
  } else if constexpr (one_of<F, RowMxfp4>) {
    return {powers_of_blocks(p), zero()};
  } else if constexpr (one_of<F, RowQ2K>) {
    const __m128i both = bytes16(p), low = _mm_set1_epi8(15);
    return {own_bytes<vector>(_mm_and_si128(both, low), broadcast_f16(p + 80)),
            own_bytes<vector>(_mm_and_si128(_mm_srli_epi16(both, 4), low), -broadcast_f16(p + 82))};
  } else if constexpr (one_of<F, RowQ3K>) {
    return {own_bytes<vector>(scales_q3k(p), broadcast_f16(p + 108)), zero()};
  } else if constexpr (one_of<F, RowQ6K>) {
    return {own_bytes<vector>(bytes16(p + 192), broadcast_f16(p + 208)), zero()};
  } else if constexpr (Step<F>::units_of_block == 1) {
    if constexpr (F::least)
      return {widen_words(halves_of_blocks<F::bytes, F::step_at>(p)), widen_words(halves_of_blocks<F::bytes, F::least_at>(p))};
    else return {widen_words(halves_of_blocks<F::bytes, F::step_at>(p)), zero()};
  } else {
    return scales_of_eights<F>(p);
  }
}

}  // namespace
}  // namespace hearth::cpu
