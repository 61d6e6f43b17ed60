// Products with the stored integers of blocks (integers.h). Included once by each instruction set.

namespace hearth::cpu {
namespace {

// Without it GCC keeps what such lambdas work on in memory.
#define HEARTH_LAMBDA __attribute__((always_inline))

constexpr int pieces = 32 / W;       // registers of f32 in 32 values
constexpr int word_pieces = 16 / W;  // registers of 16-bit integers in 32 values

// 32 numbers as d · q; `sums` of q over the two halves. → d
HEARTH_INLINE float quantize_block(const float* x, int16_t* q, int32_t* sums) {
  V v[pieces];
  unroll<pieces>([&](auto i) { v[i] = load(x + i * W); });
  I high[pieces];
  unroll<pieces>([&](auto i) { high[i] = as_integers(abs(v[i])); });
  int bits = 0;
  unroll<pieces / 2>([&](auto i) {
    const int lane = largest_lane(high[2 * i], high[2 * i + 1]);
    bits = lane > bits ? lane : bits;
  });
  float largest;
  __builtin_memcpy(&largest, &bits, sizeof largest);
  const bool finite = bits < 0x7f800000, counts = finite && largest >= 0x1p-100f;
  const V inverse = set(counts ? 32767.0f / largest : 0.0f);
  I whole[pieces];
  unroll<pieces>([&](auto i) { whole[i] = counts ? to_whole(v[i] * inverse) : zero_i(); });
  unroll<word_pieces>([&](auto i) { store_words(q + i * 2 * W, whole[2 * i], whole[2 * i + 1]); });
  unroll<2>([&](auto half) {
    I sum = whole[half * pieces / 2];
    unroll<pieces / 2 - 1>([&](auto i) { sum = add(sum, whole[half * pieces / 2 + i + 1]); });
    sums[half] = sum_lanes(sum);
  });
  return finite ? (counts ? largest / 32767.0f : 0.0f) : __builtin_nanf("");
}

// --- one row of x ------------------------------------------------------------------------------------------------------

// A step is what W units or a block hold, whichever is more.
template <class F> struct Step {
  static constexpr int units_of_block = int(F::values) / F::unit;
  static constexpr int blocks = units_of_block < W ? W / units_of_block : 1;
  static constexpr int vectors = blocks * units_of_block / W;  // of W units
  static constexpr int64_t values = blocks * F::values, bytes = blocks * F::bytes;
};

// Types whose 4-bit codes are taken out of 16-bit words of the file, so that the numbers of x have to stand in the order of those.
template <class F> constexpr bool by_words = false;
template <> constexpr bool by_words<RowQ40> = true;
template <> constexpr bool by_words<RowQ4K> = true;

// The place in a step of number i of the order: of W / 4 · 8 words for the fields at bits 0, 4, 8 and 12 each; four such make the W sums.
template <class F> constexpr int ordered(int i) {
  constexpr bool q4_k = Step<F>::units_of_block == 8;
  const int field = i / (2 * W) % 4, part = i / (8 * W), quarter = i % (2 * W) / 8, j = i % 8;
  const int low = 2 * j + field / 2, high = field % 2;
  if (!q4_k) return (4 * quarter + part) * 32 + low + 16 * high;
  const int half = part % 2, unit = 4 * quarter + part / 2 * 2 + high;
  return unit * 32 + half * 16 + low;
}

template <class F> void quantize_row_of(const float* x, int64_t k, int16_t* q, float* d, int32_t* s) {
  constexpr int64_t unit = F::unit, values = Step<F>::values;
  const int64_t padded = (k + values - 1) / values * values;
  for (int64_t i = 0; i < k; i += 32) {
    int32_t halves[2];
    const float scale = quantize_block(x + i, q + i, halves);
    for (int64_t u = i / unit; u < (i + 32) / unit; ++u) {
      d[u] = scale;
      s[u] = unit == 32 ? halves[0] + halves[1] : halves[u % 2];
    }
  }
  for (int64_t i = k; i < padded; ++i) q[i] = 0;
  for (int64_t u = k / unit; u < padded / unit; ++u) d[u] = 0, s[u] = 0;
  if constexpr (by_words<F>) {
    struct Order {
      constexpr Order() {
        for (int i = 0; i < int(values); ++i) from[i] = int16_t(ordered<F>(i));
      }
      int16_t from[values] = {};
    };
    static constexpr Order order;
    for (int64_t begin = 0; begin < padded; begin += values, q += values) {
      int16_t natural[values];
      __builtin_memcpy(natural, q, sizeof natural);
      for (int i = 0; i < int(values); ++i) q[i] = natural[order.from[i]];
    }
  }
}

// Σ code · q over each of W units of a step at p.
template <class F, int vector> HEARTH_INLINE I unit_sums(const char* p, const int16_t* q, [[maybe_unused]] const int32_t* s) {
  constexpr int in_block = Step<F>::units_of_block;
  if constexpr (by_words<F>) {
    I sums[4];
    unroll<4>([&](auto i) { sums[i] = zero_i(); });
    unroll<4>([&](auto part) {
      constexpr int64_t b = F::bytes;
      constexpr int64_t begin = in_block == 1 ? 2 + part * b : 16 + part / 2 * 32 + part % 2 * 16, step = in_block == 1 ? 4 * b : 64;
      const char* at = p + begin;
#ifdef __AVX512F__
      const I bits =
          in_block == 1 ? quarters_at(at, at + step, at + 2 * step, at + 3 * step) : quarters_at(at, at + step, at + b, at + b + step);
#else
      const I bits = quarters_at(at, at + step);
#endif
      unroll<4>([&](auto field) {
        I& sum = sums[in_block == 1 ? int(part) : part / 2 * 2 + field % 2];
        sum = dot(sum, nibbles<4 * field>(bits), load_i(q + (part * 4 + field) * 2 * W));
      });
    });
    const I all = quarter_sums(sums[0], sums[1], sums[2], sums[3]);
    if constexpr (in_block == 1) return sub(all, times8(load_i(s)));
    return all;
  } else if constexpr (F::unit == 32) {
    I quarter[quarters];
    unroll<quarters>([&](auto i) {
      I sum[4];
      unroll<4>([&](auto j) {
        constexpr int u = i * 4 + j;
        const __m256i codes = F::template codes_of<u % in_block>(p + u / in_block * F::bytes);
        sum[j] = zero_i();
        unroll<word_pieces>([&](auto piece) { sum[j] = dot(sum[j], words<piece>(codes), load_i(q + u * 32 + piece * 2 * W)); });
      });
      quarter[i] = quarter_sums(sum[0], sum[1], sum[2], sum[3]);
    });
    return lane_sums(quarter);
  } else {
    I sum[8];
    unroll<W / 2>([&](auto i) {
      const __m256i codes = F::template codes_of<vector * W / 2 + i>(p);
      unroll<word_pieces>(
          [&](auto piece) { sum[i * word_pieces + piece] = dot(zero_i(), words<piece>(codes), load_i(q + i * 32 + piece * 2 * W)); });
    });
    return unit16_sums(sum);
  }
}

// f16 numbers at `at` of W blocks.
template <class F> HEARTH_INLINE V halves_at(const char* p) {
  __m128i word[2] = {_mm_setzero_si128(), _mm_setzero_si128()};
  unroll<W>([&](auto i) {
    short bits;
    __builtin_memcpy(&bits, p + i * F::bytes, 2);
    word[i / 8] = _mm_insert_epi16(word[i / 8], bits, i % 8);
  });
  return widen_words(word[0], word[1]);
}

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
#ifdef __AVX512F__
// Of two blocks of eight units: as ScalesK4 and ScalesIq4Xs, both at once.
template <class F> HEARTH_INLINE UnitScales unit_scales_of_two(const char* p) {
  if constexpr (F::least) {
    const __m256i bits = _mm256_set_m128i(bytes16(p + F::bytes + 4), bytes16(p + 4));
    const __m256i low = _mm256_and_si256(_mm256_srlv_epi32(_mm256_shuffle_epi32(bits, 0x98), _mm256_setr_epi32(0, 0, 0, 4, 0, 0, 0, 4)),
                                         _mm256_set1_epi64x(0x0f0f0f0f3f3f3f3f));
    const __m256i high = _mm256_and_si256(_mm256_srli_epi32(_mm256_shuffle_epi32(bits, 0x50), 2), _mm256_set1_epi64x(0x3030303000000000));
    const __m256i all = _mm256_permute4x64_epi64(_mm256_or_si256(low, high), 0xd8);
    const __m128 factors = _mm_cvtph_ps(_mm_insert_epi32(_mm_cvtsi32_si128(int(word(p))), int(word(p + F::bytes)), 1));
    const __m512i own = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2);
    const V d = _mm512_permutexvar_ps(own, _mm512_castps128_ps512(factors));
    const V least = _mm512_permutexvar_ps(_mm512_add_epi32(own, _mm512_set1_epi32(1)), _mm512_castps128_ps512(factors));
    return {widen_i8(_mm256_castsi256_si128(all)) * d, widen_i8(_mm256_extracti128_si256(all, 1)) * -least};
  } else {
    const typename F::Scales own(p), next(p + F::bytes);
    return {join(own.step, next.step), zero()};
  }
}
#endif

template <class F, int vector> HEARTH_INLINE UnitScales unit_scales(const char* p) {
  if constexpr (F::bytes == 17) {
    float step[W];
    for (int i = 0; i < W; ++i) step[i] = half_power(p + i * F::bytes);
    return {load(step), zero()};
  } else if constexpr (F::bytes == 210) {
    return {widen_i8(load_bytes(p + 192 + vector * W)) * broadcast_f16(p + 208), zero()};
  } else if constexpr (Step<F>::units_of_block == 1) {
    if constexpr (F::least) return {halves_at<F>(p + F::step_at), halves_at<F>(p + F::least_at)};
    else return {halves_at<F>(p + F::step_at), zero()};
  } else if constexpr (Step<F>::blocks == 2) {
    return unit_scales_of_two<F>(p);
  } else {
    const typename F::Scales own(p);
    if constexpr (F::least) return {load(own.step + vector * W), load(own.lowest + vector * W)};
    else return {load(own.step + vector * W), zero()};
  }
}

template <class F, int vector> HEARTH_INLINE V unit_products(const char* p, const int16_t* q, const float* d, const int32_t* s) {
  const V scale = load(d), sums = to_float(unit_sums<F, vector>(p, q, s));
  const UnitScales own = unit_scales<F, vector>(p);
  V product = sums * (own.step * scale);
  if constexpr (F::least) product = fma(to_float(load_i(s)) * scale, own.least, product);
  return product;
}

// W rows side by side, so that their units can be added in order.
template <class F>
void integer_dots_of(const int16_t* q, const float* d, const int32_t* s, const char* w, int64_t rows, int64_t k, float* y) {
  using S = Step<F>;
  const int64_t row_bytes = k / F::values * F::bytes, whole = k / S::values * S::bytes;
  for (int64_t n = 0; n < rows; n += W) {
    const int64_t count = rows - n < W ? rows - n : W;
    // The next W rows come into the cache in the order of memory while these are multiplied.
    const char *const row = w + n * row_bytes, *const next = row + W * row_bytes;
    V total = zero();
    const auto add_step = [&](const char* at, int64_t stride, int64_t step) {
      V product[S::vectors][W];
      for (int64_t r = 0; r < W; ++r) {
        const char* p = at + (r < count ? r : count - 1) * stride;
        unroll<S::vectors>([&](auto v) {
          constexpr int64_t units = v * W;
          const int64_t unit = step * S::vectors * W + units;
          product[v][r] = unit_products<F, v>(p, q + unit * F::unit, d + unit, s + unit);
        });
        const char* const later = next + (step * W + r) * S::bytes;
        for (int64_t line = 0; line < S::bytes; line += 64) __builtin_prefetch(later + line);
      }
      unroll<S::vectors>([&](auto v) {
        turn(product[v]);
        unroll<W>([&](auto u) { total = total + product[v][u]; });
      });
    };
    for (int64_t at = 0; at < whole; at += S::bytes) add_step(row + at, row_bytes, at / S::bytes);
    if (whole < row_bytes) {
      char last[W][S::bytes] = {};
      for (int64_t r = 0; r < count; ++r) __builtin_memcpy(last[r], row + r * row_bytes + whole, size_t(row_bytes - whole));
      add_step(last[0], S::bytes, whole / S::bytes);
    }
    store_upto(y + n, count, total);
  }
}

// --- many rows of x ----------------------------------------------------------------------------------------------------

// 32 words of each of `count` ≤ W rows, `stride` apart → pairs of words [16][pair_stride lanes], the first `lanes` of them written.
HEARTH_INLINE void turn_pairs(const int16_t* from, int64_t stride, int64_t count, int16_t* to, int64_t pair_stride, int64_t lanes) {
  unroll<word_pieces>([&](auto piece) {
    V r[W];
    unroll<W>([&](auto i) { r[i] = i < count ? as_floats(load_i(from + i * stride + piece * 2 * W)) : zero(); });
    turn(r);
    unroll<W>([&](auto j) { store_upto(reinterpret_cast<float*>(to + (piece * W + j) * pair_stride * 2), lanes, r[j]); });
  });
}

void integer_pack(const float* x, int64_t x_stride, int64_t count, int64_t n, int64_t unit, int16_t* q, float* d, float* s) {
  constexpr int64_t R = integer_height;
  for (int64_t k = 0; k < n; k += 32, q += 32 * R) {
    alignas(64) int16_t natural[R * 32];
    for (int64_t r = 0; r < R; ++r) {
      int32_t halves[2] = {0, 0};
      const float scale = r < count ? quantize_block(x + r * x_stride + k, natural + r * 32, halves) : 0;
      for (int64_t u = k / unit; u < (k + 32) / unit; ++u) {
        d[u * R + r] = scale;
        s[u * R + r] = float(unit == 32 ? halves[0] + halves[1] : halves[u % 2]) * scale;
      }
    }
    turn_pairs(natural, 32, count, q, R, R);
  }
}

template <class F>
void integer_widen_of(const char* w, int64_t row_bytes, int64_t count, int64_t n, int16_t* codes, float* step, float* least) {
  constexpr int64_t in_block = Step<F>::units_of_block;
  constexpr int parts = int(F::values) / 32;
  for (int64_t half = 0; half < 2; ++half) {
    const int64_t own = count - half * W < 0 ? 0 : count - half * W < W ? count - half * W : W;
    for (int64_t block = 0; block < n / F::values; ++block) {
      const char* const p = w + half * W * row_bytes + block * F::bytes;
      unroll<parts>([&](auto part) {
        alignas(64) int16_t natural[W * 32];
        for (int64_t r = 0; r < own; ++r) {
          const __m256i bytes = F::template codes_of<part>(p + r * row_bytes);
          unroll<word_pieces>(
              [&](auto piece) { store(reinterpret_cast<float*>(natural + r * 32 + piece * 2 * W), as_floats(words<piece>(bytes))); });
        }
        turn_pairs(natural, 32, own, codes + ((block * parts + part) * 16 * panel_width + half * W) * 2, panel_width, W);
      });
      for (int64_t r = 0; r < W; ++r) {
        float* const to = step + block * in_block * panel_width + half * W + r;
        float* const low = least + block * in_block * panel_width + half * W + r;
        const char* const row = p + r * row_bytes;
        if (r >= own) {
          for (int64_t u = 0; u < in_block; ++u) to[u * panel_width] = low[u * panel_width] = 0;
        } else if constexpr (in_block > 1) {
          const typename F::Scales scales(row);
          for (int64_t u = 0; u < in_block; ++u) {
            to[u * panel_width] = scales.step[u];
            if constexpr (F::least) low[u * panel_width] = scales.lowest[u];
          }
        } else {
          if constexpr (F::bytes == 17) *to = half_power(row);
          else *to = half_at(row + F::step_at);
          if constexpr (F::least) *low = half_at(row + F::least_at);
        }
      }
    }
  }
}

template <int unit, bool has_least>
void integer_tile_of(const int16_t* q, const float* d, const float* s, const int16_t* codes, const float* step, const float* least,
                     int64_t units, float* sums) {
  constexpr int R = integer_height;
  for (; units > 0; --units, d += R, s += R, step += panel_width, least += panel_width) {
    // The barriers keep the accumulators, and not `sums`, in registers: there are too few for both.
    asm("" : "+r"(sums));
    I acc[2 * R];
    unroll<2 * R>([&](auto i) HEARTH_LAMBDA { acc[i] = zero_i(); });
    for (int j = 0; j < unit / 2; ++j, q += 2 * R, codes += 2 * panel_width) {
      const I left = load_i(codes), right = load_i(codes + 2 * W);
      unroll<R>([&](auto r) HEARTH_LAMBDA {
        const I pair = set_pair(q + 2 * r);
        acc[2 * r] = dot(acc[2 * r], left, pair);
        acc[2 * r + 1] = dot(acc[2 * r + 1], right, pair);
      });
      unroll<2 * R>([&](auto i) HEARTH_LAMBDA {
        I& sum = acc[i];
        asm volatile("" : "+v"(sum));
      });
    }
    unroll<2>([&](auto c) HEARTH_LAMBDA {
      const V own = load(step + c * W), lowest = has_least ? load(least + c * W) : zero();
      unroll<R>([&](auto r) HEARTH_LAMBDA {
        V product = to_float(acc[2 * r + c]) * (own * set(d[r]));
        if constexpr (has_least) product = fma(set(s[r]), lowest, product);
        float* const to = sums + r * panel_width + c * W;
        store(to, load(to) + product);
      });
    });
  }
}

// --- by type -----------------------------------------------------------------------------------------------------------

template <class F> HEARTH_INLINE void with_blocks(RowType type, const F& f) {
  with_format(type, [&](auto format) {
    if constexpr (requires { decltype(format)::unit; }) f(format);
  });
}

void quantize_row(RowType type, const float* x, int64_t k, int16_t* q, float* d, int32_t* s) {
  with_blocks(type, [&](auto format) { quantize_row_of<decltype(format)>(x, k, q, d, s); });
}
void integer_row_dots(RowType type, const int16_t* q, const float* d, const int32_t* s, const void* w, int64_t rows, int64_t k, float* y) {
  with_blocks(type, [&](auto format) { integer_dots_of<decltype(format)>(q, d, s, static_cast<const char*>(w), rows, k, y); });
}
void integer_widen(RowType type, const void* w, int64_t row_bytes, int64_t count, int64_t n, int16_t* codes, float* step, float* least) {
  with_blocks(
      type, [&](auto format) { integer_widen_of<decltype(format)>(static_cast<const char*>(w), row_bytes, count, n, codes, step, least); });
}
void integer_tile(RowType type, const int16_t* q, const float* d, const float* s, const int16_t* codes, const float* step,
                  const float* least, int64_t units, float* sums) {
  with_blocks(type, [&](auto format) {
    integer_tile_of<decltype(format)::unit, decltype(format)::least>(q, d, s, codes, step, least, units, sums);
  });
}

constexpr IntegerKernels integers_named(const char* name) {
  return {.name = name,
          .rows = integer_height,
          .quantize_row = quantize_row,
          .row_dots = integer_row_dots,
          .pack = integer_pack,
          .widen = integer_widen,
          .tile = integer_tile};
}

}  // namespace
}  // namespace hearth::cpu
