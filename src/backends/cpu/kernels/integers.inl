// Products with the stored integers of blocks (integers.h). Included once by each instruction set.

namespace hearth::cpu {
namespace {

// 32 values as d · q; `sums` of q over the two halves. → d
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

template <class F> void quantize_row_of(const float* x, int64_t k, int16_t* q, float* d, int32_t* s) {
  constexpr int64_t unit = F::unit, values = Step<F>::values;
  for (; k > 0; k -= values, x += values, q += values, d += values / unit, s += values / unit) {
    int16_t natural[values] = {};
    for (int64_t u = 0; u < values / unit; ++u) d[u] = 0, s[u] = 0;
    for (int64_t i = 0; i < (k < values ? k : values); i += 32) {
      int32_t halves[2];
      const float scale = quantize_block(x + i, natural + i, halves);
      for (int64_t u = i / unit; u < (i + 32) / unit; ++u) {
        d[u] = scale;
        s[u] = unit == 32 ? halves[0] + halves[1] : halves[u % 2];
        if constexpr (is_corrected<F>) s[u] = correction<F>(natural + u * unit, s[u]);
        if constexpr (F::least) {
          const float whole = float(s[u]) * scale;
          __builtin_memcpy(s + u, &whole, sizeof whole);
        }
      }
    }
    // Not unrolled: code that runs once between two products comes from memory.
#pragma GCC unroll 1
    for (int c = 0; c < int(values) / (4 * W); ++c)
#pragma GCC unroll 1
      for (int quarter = 0; quarter < W / 4; ++quarter) put_quarter<F>(natural + place<F>(c, quarter), quarter, q + c * 4 * W);
  }
}

template <class F, int vector> HEARTH_INLINE V unit_products(const char* p, const int16_t* q, const float* d, const int32_t* s) {
  const V scale = load(d), sums = to_float(unit_sums<F, vector>(p, q, s));
  const UnitScales own = unit_scales<F, vector>(p);
  V product = sums * (own.step * scale);
  if constexpr (F::least) product = fma(load(reinterpret_cast<const float*>(s)), own.least, product);
  return product;
}

// W rows at a time, so that their units can be added in order.
template <class F>
void integer_dots_of(const int16_t* q, const float* d, const int32_t* s, const char* w, int64_t rows, int64_t k, float* y,
                     const char* after) {
  using S = Step<F>;
  constexpr int64_t rows_ahead = 4;
  const int64_t row_bytes = k / F::values * F::bytes, whole = k / S::values * S::bytes;
  const int64_t quarter = (rows + W - 1) / W * (W / 4) * row_bytes;
  for (int64_t n = 0; n < rows; n += W) {
    const int64_t count = rows - n < W ? rows - n : W;
    // Prefetches as many rows as are multiplied here into L2, in four runs in parallel: one alone does not keep enough cache lines in
    // flight, and longer runs are better. From L2 a few rows are prefetched into L1 ahead of use if that pays.
    const char* const row = w + n * row_bytes;
    const char* const next = n + W < rows ? row + W * row_bytes : after ? after : row;
    const char* const later_rows = (after ? after : w) + n / 4 * row_bytes;
    V total = zero();
    // One step of each row, of which `units` and `bytes` belong to the row; row_at(r) is its start.
    const auto add_step = [&](int64_t step, int64_t units, int64_t bytes, const auto& row_at, const char* later_step) HEARTH_LAMBDA {
      V product[S::vectors][W];
      const char* later[4];
      for (int64_t run = 0; run < 4; ++run) later[run] = later_rows + run * quarter + step * S::bytes * (W / 4);
      for (int64_t r = 0; r < W; ++r) {
        const char* p = row_at(r < count ? r : count - 1);
        unroll<S::vectors>([&](auto v) {
          const int64_t unit = (step * S::vectors + v) * W;
          product[v][r] = unit_products<F, v>(p, each_time(q) + unit * F::unit, d + unit, s + unit);
        });
        const char*& run = later[r % 4];
        for (int64_t line = 0; line < bytes; line += 64) __builtin_prefetch(run + line, 0, 2);
        if constexpr (soon_into_l1) {
          const char* const soon = r + rows_ahead < W ? p + rows_ahead * row_bytes : later_step + (r + rows_ahead - W) * row_bytes;
          for (int64_t line = 0; line < bytes; line += 64) __builtin_prefetch(soon + line);
        }
        run += bytes;
      }
      unroll<S::vectors>([&](auto v) {
        turn(product[v]);
        if (units == S::vectors * W) unroll<W>([&](auto u) { total = total + product[v][u]; });
        else
          for (int64_t u = 0; u < units - v * W && u < W; ++u) total = total + product[v][u];
      });
    };
    for (int64_t at = 0; at < whole; at += S::bytes)
      add_step(
          at / S::bytes, S::vectors * W, S::bytes, [&](int64_t r) { return row + at + r * row_bytes; },
          at + S::bytes < row_bytes ? row + at + S::bytes : next);
    if (whole < row_bytes) {
      // Bytes read beyond a row's end belong to the following rows and are ignored. After the last row, zeros are read instead.
      const int64_t rest = row_bytes - whole;
      char last[W][S::bytes];
      const auto row_at = [&](int64_t r) -> const char* {
        const char* const p = row + whole + r * row_bytes;
        if (p + S::bytes <= w + rows * row_bytes) return p;
        __builtin_memset(last[r], 0, S::bytes);
        return static_cast<const char*>(__builtin_memcpy(last[r], p, size_t(rest)));
      };
      add_step(whole / S::bytes, rest / F::bytes * S::units_of_block, rest, row_at, next);
    }
    store_upto(y + n, count, total);
  }
}

// --- many rows of x ----------------------------------------------------------------------------------------------------

// 32 words of each of `count` ≤ W rows, 32 apart → pairs of words [16][height lanes], in the order of pairs of codes (integer_columns.inl).
HEARTH_INLINE void turn_pairs(const int16_t* from, int64_t count, int64_t height, int16_t* to) {
  unroll<word_pieces>([&](auto piece) {
    V r[W];
    unroll<W>([&](auto i) { r[i] = i < count ? as_floats(middle_words_swapped(load_i(from + i * 32 + piece * 2 * W))) : zero(); });
    turn(r);
    unroll<W>([&](auto j) { store_upto(reinterpret_cast<float*>(to + (piece * W + j) * height * 2), height, r[j]); });
  });
}

void integer_pack(const float* x, int64_t x_stride, int64_t count, int64_t height, int64_t n, int64_t unit, int16_t* q, float* d,
                  float* s) {
  for (int64_t k = 0; k < n; k += 32, q += 32 * height) {
    alignas(64) int16_t natural[integer_height * 32];
    for (int64_t r = 0; r < height; ++r) {
      int32_t halves[2] = {0, 0};
      const float scale = r < count ? quantize_block(x + r * x_stride + k, natural + r * 32, halves) : 0;
      for (int64_t u = k / unit; u < (k + 32) / unit; ++u) {
        d[u * height + r] = scale;
        s[u * height + r] = float(unit == 32 ? halves[0] + halves[1] : halves[u % 2]) * scale;
      }
    }
    turn_pairs(natural, count, height, q);
  }
}

// `rows` rows of x, of which each step of k takes two values from all; units of a product are added in order.
template <int rows, int unit, bool has_least>
void integer_tile_of(const int16_t* q, const float* d, const float* s, const int16_t* codes, const float* step, const float* least,
                     int64_t units, float* sums) {
  // With few rows the pairs of k alternate between two sets of accumulators: one set alone waits for the results.
  constexpr int sets = rows <= 4 ? 2 : 1, each = 2 * rows;
  for (; units > 0; --units, d += rows, s += rows, step += panel_width, least += panel_width) {
    // The barriers keep the accumulators instead of `sums` in registers: there are too few for both.
    asm("" : "+r"(sums));
    I acc[sets * each];
    unroll<sets * each>([&](auto i) HEARTH_LAMBDA { acc[i] = zero_i(); });
    for (int j = 0; j < unit / 2; j += sets) {
      unroll<sets>([&](auto set) HEARTH_LAMBDA {
        const I left = load_i(codes), right = load_i(codes + 2 * W);
        unroll<rows>([&](auto r) HEARTH_LAMBDA {
          const I pair = set_pair(q + 2 * r);
          acc[set * each + 2 * r] = dot(acc[set * each + 2 * r], left, pair);
          acc[set * each + 2 * r + 1] = dot(acc[set * each + 2 * r + 1], right, pair);
        });
        q += 2 * rows, codes += 2 * panel_width;
      });
      unroll<sets * each>([&](auto i) HEARTH_LAMBDA {
        I& sum = acc[i];
        asm volatile("" : "+v"(sum));
      });
    }
    unroll<2>([&](auto c) HEARTH_LAMBDA {
      const V own = load(step + c * W), lowest = has_least ? load(least + c * W) : zero();
      unroll<rows>([&](auto r) HEARTH_LAMBDA {
        const I sum = sets == 2 ? add(acc[2 * r + c], acc[(sets - 1) * each + 2 * r + c]) : acc[2 * r + c];
        V product = to_float(sum) * (own * set(d[r]));
        if constexpr (has_least) product = fma(set(s[r]), lowest, product);
        float* const to = sums + r * panel_width + c * W;
        store(to, load(to) + product);
      });
    });
  }
}

using IntegerTile = void (*)(const int16_t*, const float*, const float*, const int16_t*, const float*, const float*, int64_t, float*);
struct IntegerTileTable {
  IntegerTile of[integer_height / integer_height_step] = {};
};
template <int unit, bool has_least, int rows = integer_height> constexpr void fill(IntegerTileTable& table) {
  if constexpr (rows > 0) {
    table.of[rows / integer_height_step - 1] = integer_tile_of<rows, unit, has_least>;
    fill<unit, has_least, rows - integer_height_step>(table);
  }
}
template <int unit, bool has_least> constexpr IntegerTileTable make_integer_tiles() {
  IntegerTileTable table;
  fill<unit, has_least>(table);
  return table;
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
void integer_row_dots(RowType type, const int16_t* q, const float* d, const int32_t* s, const void* w, int64_t rows, int64_t k, float* y,
                      const void* next) {
  with_blocks(type, [&](auto format) {
    integer_dots_of<decltype(format)>(q, d, s, static_cast<const char*>(w), rows, k, y, static_cast<const char*>(next));
  });
}
void integer_widen(RowType type, const void* w, int64_t row_bytes, int64_t count, int64_t n, int16_t* codes, float* step, float* least) {
  with_blocks(
      type, [&](auto format) { integer_widen_of<decltype(format)>(static_cast<const char*>(w), row_bytes, count, n, codes, step, least); });
}
void integer_tile(RowType type, int64_t height, const int16_t* q, const float* d, const float* s, const int16_t* codes, const float* step,
                  const float* least, int64_t units, float* sums) {
  with_blocks(type, [&](auto format) {
    using F = decltype(format);
    static constexpr IntegerTileTable tiles = make_integer_tiles<F::unit, F::least>();
    tiles.of[height / integer_height_step - 1](q, d, s, codes, step, least, units, sums);
  });
}

constexpr IntegerKernels integers_named(const char* name) {
  return {.name = name,
          .most_rows = integer_height,
          .rows_step = integer_height_step,
          .quantize_row = quantize_row,
          .row_dots = integer_row_dots,
          .pack = integer_pack,
          .widen = integer_widen,
          .tile = integer_tile};
}

}  // namespace
}  // namespace hearth::cpu
