// Rows of blocks → columns of codes, steps and least values (IntegerKernels::widen): a lane is a row of w. Included once by each
// instruction set.
//
// Sixteen bytes of W rows are transposed as dwords, before their fields are extracted: a register then has the same four bytes, or eight
// codes, of each row. The words of a register of bytes are its even and its odd bytes, so pairs of codes have the order of integers.h.

namespace hearth::cpu {
namespace {

// Registers of pairs of codes, `panel_width` lanes apart: those of the four values from k on are pairs k / 2 and k / 2 + 1.
struct CodeColumns {
  int16_t* to;
  void put(int k, I first, I second) const {
    store_i(to + k / 2 * panel_width * 2, first);
    store_i(to + (k / 2 + 1) * panel_width * 2, second);
  }
  void put_bytes(int k, I bytes) const { put(k, signed_shift_words<8>(shift_words<-8>(bytes)), signed_shift_words<8>(bytes)); }
};

// Codes of a block: for formats with four or eight bits as they are in the file, for others from codes_of.
template <class F> HEARTH_INLINE void code_columns(const char* p, int64_t stride, const CodeColumns& columns) {
  constexpr bool in_block = one_of<F, RowQ40, RowQ41, RowIq4Nl, RowMxfp4, RowIq4Xs>;
  const I four = set_words(0x0f0f);
  I r[4];
  if constexpr (one_of<F, RowQ80>) {
    unroll<2>([&](auto half) HEARTH_LAMBDA {
      turn_quarters(p + F::codes_at + half * 16, stride, r);
      unroll<4>([&](auto j) HEARTH_LAMBDA { columns.put_bytes(half * 16 + j * 4, r[j]); });
    });
  } else if constexpr (in_block) {
    unroll<int(F::values) / 32>([&](auto unit) HEARTH_LAMBDA {
      turn_quarters(p + F::codes_at + unit * 16, stride, r);
      unroll<4>([&](auto j) HEARTH_LAMBDA {
        const auto put = [&](int k, auto codes) HEARTH_LAMBDA {
          if constexpr (has_table<F>) columns.put_bytes(k, table_bytes(one_of<F, RowMxfp4> ? doubled_e2m1() : iq4_codes(), codes.bytes()));
          else if constexpr (F::least) columns.put(k, codes.first(), codes.second());
          else columns.put(k, sub_words(codes.first(), set_words(8)), sub_words(codes.second(), set_words(8)));
        };
        put(unit * 32 + j * 4, Fields<0, 4>{r[j]});
        put(unit * 32 + 16 + j * 4, Fields<4, 4>{r[j]});
      });
    });
  } else if constexpr (one_of<F, RowQ4K, RowQ5K>) {
    unroll<2>([&](auto half) HEARTH_LAMBDA {
      I fifths[4];
      if constexpr (one_of<F, RowQ5K>) turn_quarters(p + 16 + half * 16, stride, fifths);
      unroll<4>([&](auto pair) HEARTH_LAMBDA {
        turn_quarters(p + F::codes_at + pair * 32 + half * 16, stride, r);
        unroll<4>([&](auto j) HEARTH_LAMBDA {
          const int k = pair * 64 + half * 16 + j * 4;
          if constexpr (one_of<F, RowQ5K>) {
            const I bit = set_words(0x1010);
            columns.put_bytes(k, masked_or(r[j], four, shift_words<2 * pair - 4>(fifths[j]) & bit));
            columns.put_bytes(k + 32, masked_or(shift_words<4>(r[j]), four, shift_words<2 * pair - 3>(fifths[j]) & bit));
          } else {
            const Fields<0, 4> low{r[j]};
            const Fields<4, 4> high{r[j]};
            columns.put(k, low.first(), low.second());
            columns.put(k + 32, high.first(), high.second());
          }
        });
      });
    });
  } else if constexpr (one_of<F, RowQ6K>) {
    unroll<4>([&](auto i) HEARTH_LAMBDA {  // sixteen bytes of a half of the block
      const int half = i / 2, from = i % 2 * 16;
      I other[4], upper[4];
      turn_quarters(p + half * 64 + from, stride, r);
      turn_quarters(p + half * 64 + 32 + from, stride, other);
      turn_quarters(p + 128 + half * 32 + from, stride, upper);
      unroll<4>([&](auto j) HEARTH_LAMBDA {
        const I two = set_words(0x3030), offset = set_words(0x2020);
        const int k = half * 128 + from + j * 4;
        columns.put_bytes(k, sub_bytes(masked_or(r[j], four, shift_words<-4>(upper[j]) & two), offset));
        columns.put_bytes(k + 32, sub_bytes(masked_or(other[j], four, shift_words<-2>(upper[j]) & two), offset));
        columns.put_bytes(k + 64, sub_bytes(masked_or(shift_words<4>(r[j]), four, upper[j] & two), offset));
        columns.put_bytes(k + 96, sub_bytes(masked_or(shift_words<4>(other[j]), four, shift_words<2>(upper[j]) & two), offset));
      });
    });
  } else {
    unroll<int(F::values) / 32>([&](auto part) HEARTH_LAMBDA {
      alignas(64) char natural[W * 32];
      for (int64_t row = 0; row < W; ++row)
        _mm256_store_si256(reinterpret_cast<__m256i*>(natural + row * 32), F::template codes_of<part>(p + row * stride));
      unroll<2>([&](auto half) HEARTH_LAMBDA {
        turn_quarters(natural + half * 16, 32, r);
        unroll<4>([&](auto j) HEARTH_LAMBDA { columns.put_bytes(part * 32 + half * 16 + j * 4, r[j]); });
      });
    });
  }
}

// Steps and least values of a block, `panel_width` apart from unit to unit.
template <class F> HEARTH_INLINE void scale_columns(const char* p, int64_t stride, float* step, float* least) {
  constexpr int units = Step<F>::units_of_block;
  const auto put = [&](int unit, V own) HEARTH_LAMBDA { store(step + unit * panel_width, own); };
  const auto put_least = [&](int unit, V own) HEARTH_LAMBDA { store(least + unit * panel_width, own); };
  // The f16 at byte `at` of each row.
  const auto halves = [&](int64_t at) HEARTH_LAMBDA {
    alignas(64) uint16_t bits[W];
    for (int64_t row = 0; row < W; ++row) __builtin_memcpy(bits + row, p + row * stride + at, 2);
    return load_f16(bits);
  };
  I r[4];
  if constexpr (one_of<F, RowQ4K, RowQ5K>) {  // six bits each of a step and a least value, as scales_k4
    turn_quarters(p, stride, r);
    const V d = halves_to_float(r[0]), lowest = -halves_to_float(shift_dwords<16>(r[0]));
    const I six = set_dwords(63), four = set_dwords(15), two = set_dwords(48);
    unroll<4>([&](auto i) HEARTH_LAMBDA {
      const auto upper = [&](I bits) HEARTH_LAMBDA { return shift_dwords<8 * i + 2>(bits) & two; };
      put(i, to_float(shift_dwords<8 * i>(r[1]) & six) * d);
      put_least(i, to_float(shift_dwords<8 * i>(r[2]) & six) * lowest);
      put(4 + i, to_float(masked_or(shift_dwords<8 * i>(r[3]), four, upper(r[1]))) * d);
      put_least(4 + i, to_float(masked_or(shift_dwords<8 * i + 4>(r[3]), four, upper(r[2]))) * lowest);
    });
  } else if constexpr (one_of<F, RowQ6K>) {
    turn_quarters(p + 192, stride, r);
    const V d = halves(208);
    unroll<16>([&](auto i) HEARTH_LAMBDA { put(i, to_float(signed_shift_dwords<24>(shift_dwords<8 * (i % 4) - 24>(r[i / 4]))) * d); });
  } else if constexpr (units == 1 && !one_of<F, RowMxfp4>) {
    put(0, halves(F::step_at));
    if constexpr (F::least) put_least(0, halves(F::least_at));
  } else {
    for (int64_t row = 0; row < W; ++row) {
      const char* const own = p + row * stride;
      if constexpr (units == 1) {
        step[row] = half_power(own);
      } else {
        const typename F::Scales scales(own);
        for (int64_t u = 0; u < units; ++u) {
          step[u * panel_width + row] = scales.step[u];
          if constexpr (F::least) least[u * panel_width + row] = scales.lowest[u];
        }
      }
    }
  }
}

template <class F>
void integer_widen_of(const char* w, int64_t row_bytes, int64_t count, int64_t n, int16_t* codes, float* step, float* least) {
  constexpr int64_t units = Step<F>::units_of_block;
  const int64_t blocks = n / F::values;
  for (int64_t half = 0; half < 2; ++half, codes += 2 * W, step += W, least += W) {
    const int64_t own = count - half * W;
    const char* const from = w + half * W * row_bytes;
    char filled[W * F::bytes];  // with zeros in place of rows that do not exist: their steps are zero
    if (own < W) __builtin_memset(filled, 0, sizeof filled);
    for (int64_t block = 0; block < blocks; ++block) {
      const char* p = from + block * F::bytes;
      if (own < W) {
        for (int64_t row = 0; row < own; ++row) __builtin_memcpy(filled + row * F::bytes, p + row * row_bytes, F::bytes);
        p = filled;
      }
      const int64_t stride = own < W ? F::bytes : row_bytes;
      scale_columns<F>(p, stride, step + block * units * panel_width, least + block * units * panel_width);
      code_columns<F>(p, stride, {codes + block * F::values * panel_width});
    }
    if (own < W && one_of<F, RowMxfp4>)  // an exponent of zero is not a step of zero
      for (int64_t unit = 0; unit < blocks * units; ++unit)
        for (int64_t row = own < 0 ? 0 : own; row < W; ++row) step[unit * panel_width + row] = 0;
  }
}

}  // namespace
}  // namespace hearth::cpu
