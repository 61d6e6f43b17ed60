// Σ code · q over the units of a row in exact integers, and the scales of units. Included once by each instruction set.

namespace hearth::cpu {
namespace {

// Without it GCC keeps what such lambdas work on in memory.
#define HEARTH_LAMBDA __attribute__((always_inline))

constexpr int pieces = 32 / W;       // registers of f32 in 32 values
constexpr int word_pieces = 16 / W;  // registers of 16-bit integers in 32 values

// A step is what W units or a block hold, whichever is more.
template <class F> struct Step {
  static constexpr int units_of_block = int(F::values) / F::unit;
  static constexpr int blocks = units_of_block < W ? W / units_of_block : 1;
  static constexpr int vectors = blocks * units_of_block / W;  // of W units
  static constexpr int64_t values = blocks * F::values, bytes = blocks * F::bytes;
};

// Codes are taken out of 16-bit words of the file, one field of each word at a time, so that q has to stand in the order of those
// (`ordered`). A register holds quarters of 16 bytes: four, or two with AVX2. What is summed in four registers is, after quarter_sums,
// the sums of W units.
enum class Order {
  natural,  // whole bytes
  halves,   // 32 values in 16 bytes, the first 16 in the low four bits
  pairs,    // a unit in the low and one in the high four bits of 32 bytes
  twos,     // 128 values in the two-bit fields of 32 bytes
  sixes     // 128 values in the low and high four bits of 64 bytes, and the two-bit fields of 32
};
template <class F, class... Others> constexpr bool one_of = (__is_same(F, Others) || ...);
template <class F>
constexpr Order order_of = one_of<F, RowQ40, RowQ41, RowQ50, RowQ51, RowIq4Nl, RowIq4Xs, RowMxfp4> ? Order::halves
                           : one_of<F, RowQ4K, RowQ5K>                                             ? Order::pairs
                           : one_of<F, RowQ2K, RowQ3K>                                             ? Order::twos
                           : one_of<F, RowQ6K>                                                     ? Order::sixes
                                                                                                   : Order::natural;

// The place in a step of number i of the order.
template <class F> constexpr int ordered(int i) {
  const int reg = i / (2 * W), quarter = i % (2 * W) / 8, j = i % 8;
  const int field = reg % 4, part = reg / 4, low = 2 * j + field / 2, high = field % 2, odd = reg % 2;
  switch (order_of<F>) {
    case Order::halves: return (4 * quarter + part) * 32 + 16 * high + low;
    case Order::pairs: return (4 * quarter + part / 2 * 2 + high) * 32 + part % 2 * 16 + low;
    case Order::twos: return (reg / 8 + quarter / 2) * 128 + reg % 8 / 2 * 32 + quarter % 2 * 16 + 2 * j + odd;
    case Order::sixes: {
      const int half = W == 16 ? part : part / 2, place = W == 16 ? quarter : part % 2 * 2 + quarter;
      return half * 128 + field / 2 * 64 + place * 16 + 2 * j + odd;
    }
    case Order::natural: break;
  }
  return i;
}

// Codes are unsigned on the way; what is taken from them at the end, as a power of two.
template <class F>
constexpr int offset_bits = one_of<F, RowQ3K>   ? 2
                            : one_of<F, RowQ40> ? 3
                            : one_of<F, RowQ50> ? 4
                            : one_of<F, RowQ6K> ? 5
                                                : 0;

// Codes in bytes → words of the fields 0, 8 (of low) and 4, 12 (of high).
HEARTH_INLINE void split(I low, I high, I* word) {
  word[0] = low & set_words(0xff);
  word[1] = high & set_words(0xff);
  word[2] = shift_words<8>(low);
  word[3] = shift_words<8>(high);
}

template <class F> HEARTH_INLINE void table_words(I bits, I* word) {
  const __m128i table = one_of<F, RowMxfp4> ? doubled_e2m1() : iq4_codes();
#ifdef __AVX512F__
  const I words = _mm512_cvtepi8_epi16(_mm256_broadcastsi128_si256(table));  // twice: bit 4 of an index is another field's
  unroll<4>([&](auto f) HEARTH_LAMBDA { word[f] = _mm512_permutexvar_epi16(shift_words<4 * f>(bits), words); });
#else
  const I bytes = _mm256_broadcastsi128_si256(table), low = _mm256_shuffle_epi8(bytes, bits & set_words(0x0f0f)),
          high = _mm256_shuffle_epi8(bytes, shift_words<4>(bits) & set_words(0x0f0f));
  word[0] = _mm256_srai_epi16(shift_words<-8>(low), 8), word[1] = _mm256_srai_epi16(shift_words<-8>(high), 8);
  word[2] = _mm256_srai_epi16(low, 8), word[3] = _mm256_srai_epi16(high, 8);
#endif
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
    I word[4];
    if constexpr (one_of<F, RowIq4Nl, RowIq4Xs, RowMxfp4>) {
      table_words<F>(bits, word);
    } else if constexpr (fifth) {
      const I four = set_words(0x0f0f);
      split(with_sixteens<4 * part>(bits & four, fifths), with_sixteens<4 * part + 2>(shift_words<4>(bits) & four, fifths), word);
    } else {
      unroll<4>([&](auto f) HEARTH_LAMBDA { word[f] = nibbles<4 * f>(bits); });
    }
    sums[part] = zero_i();
    unroll<4>([&](auto f) HEARTH_LAMBDA { sums[part] = dot(sums[part], word[f], load_i(q + (part * 4 + f) * 2 * W)); });
  });
  return quarter_sums(sums[0], sums[1], sums[2], sums[3]);
}

template <class F> HEARTH_INLINE I sums_by_pairs(const char* p, const int16_t* q) {
  I sums[4], fifths[2];
  unroll<4>([&](auto i) HEARTH_LAMBDA { sums[i] = zero_i(); });
  // With the bits of units u and u + 4, which lie in neighbouring quarters, at the same place.
  if constexpr (one_of<F, RowQ5K>)
    unroll<2>([&](auto i) HEARTH_LAMBDA { fifths[i] = odd_quarters_right4(both_quarters(p + 16 + i * 16, p + F::bytes + 16 + i * 16)); });
  unroll<4>([&](auto part) HEARTH_LAMBDA {
    const char* at = p + F::codes_at + part / 2 * 32 + part % 2 * 16;
#ifdef __AVX512F__
    const I bits = quarters_at(at, at + 64, at + F::bytes, at + F::bytes + 64);
#else
    const I bits = quarters_at(at, at + 64);
#endif
    I word[4];
    if constexpr (one_of<F, RowQ5K>) {
      constexpr int unit = part / 2 * 2;
      const I four = set_words(0x0f0f), bit = set_words(0x1010);
      split(masked_or(bits, four, shift_words<unit - 4>(fifths[part % 2]) & bit),
            masked_or(shift_words<4>(bits), four, shift_words<unit - 3>(fifths[part % 2]) & bit), word);
    } else {
      unroll<4>([&](auto f) HEARTH_LAMBDA { word[f] = nibbles<4 * f>(bits); });
    }
    unroll<4>([&](auto f) HEARTH_LAMBDA {
      I& sum = sums[part / 2 * 2 + f % 2];
      sum = dot(sum, word[f], load_i(q + (part * 4 + f) * 2 * W));
    });
  });
  return quarter_sums(sums[0], sums[1], sums[2], sums[3]);
}

// 32 bytes for both halves of a block, whose fields lie `bits` bits apart, moved to the same place.
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
    I even, odd;
    if constexpr (one_of<F, RowQ3K>) {
      const I codes = masked_or(shift_words<2 * i>(bits), set_words(0x0303), shift_words<i - 2>(third) & set_words(0x0404));
      even = codes & set_words(0xff), odd = shift_words<8>(codes);
    } else {
      even = shift_words<2 * i>(bits) & set_words(3), odd = shift_words<2 * i + 8>(bits) & set_words(3);
    }
    sums[i] = dot(dot(zero_i(), even, load_i(q + 2 * i * 2 * W)), odd, load_i(q + (2 * i + 1) * 2 * W));
  });
  return units_of_twos(quarter_sums(sums[0], sums[1], sums[2], sums[3]));
}

template <int vector> HEARTH_INLINE I sums_by_sixes(const char* p, const int16_t* q) {
  I sums[4];
  unroll<2>([&](auto i) HEARTH_LAMBDA {
    // Half i of the block, or of half `vector` of it.
    const I bits = load_i(p + (W == 16 ? i * 64 : vector * 64 + i * 32)), four = set_words(0x0f0f), two = set_words(0x3030);
#ifdef __AVX512F__
    const I upper = upper_half_right<2>(_mm512_broadcast_i64x4(bytes32(p + 128 + i * 32)));
#else
    const I upper = shift_words<2 * i>(bytes32(p + 128 + vector * 32));
#endif
    I word[4];
    split(masked_or(bits, four, shift_words<-4>(upper) & two), masked_or(shift_words<4>(bits), four, upper & two), word);
    const int16_t* const own = q + i * 8 * W;
    unroll<2>([&](auto high) HEARTH_LAMBDA {
      sums[W == 16 ? 2 * i + high : i + 2 * high] =
          dot(dot(zero_i(), word[high], load_i(own + 2 * high * 2 * W)), word[2 + high], load_i(own + (2 * high + 1) * 2 * W));
    });
  });
  return units_of_sixes(quarter_sums(sums[0], sums[1], sums[2], sums[3]));
}

// Whole bytes, of units of 32.
template <class F> HEARTH_INLINE I sums_of_bytes(const char* p, const int16_t* q) {
  I quarter[quarters];
  unroll<quarters>([&](auto i) HEARTH_LAMBDA {
    I sum[4];
    unroll<4>([&](auto j) HEARTH_LAMBDA {
      constexpr int u = i * 4 + j;
      const __m256i codes = F::template codes_of<0>(p + u * F::bytes);
      sum[j] = zero_i();
      unroll<word_pieces>([&](auto piece) HEARTH_LAMBDA { sum[j] = dot(sum[j], words<piece>(codes), load_i(q + u * 32 + piece * 2 * W)); });
    });
    quarter[i] = quarter_sums(sum[0], sum[1], sum[2], sum[3]);
  });
  return lane_sums(quarter);
}

// Σ code · q over each of W units of a step at p; s the sums of q.
template <class F, int vector> HEARTH_INLINE I unit_sums(const char* p, const int16_t* q, const int32_t* s) {
  constexpr Order order = order_of<F>;
  I sums;
  if constexpr (order == Order::halves) sums = sums_by_halves<F>(p, q);
  else if constexpr (order == Order::pairs) sums = sums_by_pairs<F>(p, q);
  else if constexpr (order == Order::twos) sums = sums_by_twos<F, vector>(p, q);
  else if constexpr (order == Order::sixes) sums = sums_by_sixes<vector>(p, q);
  else sums = sums_of_bytes<F>(p, q);
  if constexpr (offset_bits < F >> 0) return sub(sums, times_power<offset_bits<F>>(load_i(s)));
  else return sums;
}

// --- scales ------------------------------------------------------------------------------------------------------------

HEARTH_INLINE float half_at(const char* p) {
  uint16_t bits;
  __builtin_memcpy(&bits, p, sizeof bits);
  return _cvtsh_ss(bits);
}
HEARTH_INLINE float half_power(const char* p) {  // 2ᵉ⁻¹²⁸, as the block of mxfp4 at p has it
  const uint32_t e = uint8_t(p[0]), bits = e < 2 ? 0x00200000u << e : (e - 1) << 23;
  float factor;
  __builtin_memcpy(&factor, &bits, sizeof factor);
  return factor;
}

// Steps and least values of W units of a step at p.
struct UnitScales {
  V step, least;
};

// `bytes` hold those of a block of 16 units.
template <int vector> HEARTH_INLINE V own_bytes(__m128i bytes, V factor) {
  return widen_i8(vector == 0 ? bytes : _mm_srli_si128(bytes, 8)) * factor;
}

#ifdef __AVX512F__
// Of two blocks of eight units: as ScalesK4 and ScalesIq4Xs, both at once.
template <class F> HEARTH_INLINE UnitScales unit_scales_of_two(const char* p) {
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
}
#endif

template <class F, int vector> HEARTH_INLINE UnitScales unit_scales(const char* p) {
  if constexpr (one_of<F, RowMxfp4>) {
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
  } else if constexpr (Step<F>::blocks == 2) {
    return unit_scales_of_two<F>(p);
  } else {
    const typename F::Scales own(p);
    if constexpr (F::least) return {load(own.step), load(own.lowest)};
    else return {load(own.step), zero()};
  }
}

}  // namespace
}  // namespace hearth::cpu
