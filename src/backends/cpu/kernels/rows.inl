// Products with rows of weights as in files. Included once by each instruction set.

namespace hearth::cpu {
namespace {

void pack_left(const float* x, int64_t x_stride, int64_t rows, int64_t n, float* to) {
  for_lanes(n, [&](int64_t k, int64_t left) {
    for (int64_t r = 0; r < dot_height; ++r, to += W) store(to, r < rows ? load_upto(x + r * x_stride + k, left) : zero());
  });
}

constexpr int dots = dot_height * dot_width;

void dot_tile(const float* left, const float* w, int64_t w_stride, int64_t steps, float* lanes, const DotEnds& ends, float* sums) {
  constexpr int64_t ahead = 8 * dot_height * W;  // prefetch distance: left is in L2
  V acc[dots];
  unroll<dots>([&](auto i) { acc[i] = ends.first ? zero() : load(lanes + i * W); });
  for (; steps > 0; --steps, left += dot_height * W, w += W) {
    V x[dot_height];
    unroll<dot_height>([&](auto r) {
      x[r] = load(left + r * W);
      if constexpr (r * W % 16 == 0) __builtin_prefetch(left + r * W + ahead);
    });
    unroll<dot_width>([&](auto c) {
      const V right = load(w + c * w_stride);
      unroll<dot_height>([&](auto r) { acc[r * dot_width + c] = fma(x[r], right, acc[r * dot_width + c]); });
    });
  }
  if (!ends.last) {
    unroll<dots>([&](auto i) { store(lanes + i * W, acc[i]); });
    return;
  }
  constexpr int groups = dots / 4;
  V u[groups + quarters];
  unroll<groups + quarters>([&](auto i) {
    if constexpr (i < groups) u[i] = quarter_sums(acc[4 * i], acc[4 * i + 1], acc[4 * i + 2], acc[4 * i + 3]);
    else u[i] = zero();
  });
  unroll<(groups + quarters - 1) / quarters>([&](auto i) {
    const V sum = lane_sums(u + i * quarters);
    store(sums + i * W, ends.first_chunk ? sum : load(sums + i * W) + sum);
  });
}

template <class Format, class To> HEARTH_INLINE void decode_block(const char* p, const To& to) {
  const typename Format::Scales scales(p);
  unroll<Format::parts>([&](auto part) { Format::template decode<part>(p, scales, to); });
}

// The values after the last whole block. Only unblocked types have them: blocks are never cut.
template <class Format> HEARTH_INLINE void rest_of(const char* p, int64_t n, float* y) {
  constexpr int64_t size = Format::bytes / Format::values;
  char last[Format::bytes] = {};
  __builtin_memcpy(last, p, size_t(n * size));
  decode_block<Format>(last, [&](auto i, V v) { store(y + i * W, v); });
}

// Four streams, each through a quarter of the rows, because one alone does not keep enough cache lines in flight.
template <class Format> void dots_of(const float* x, const char* w, int64_t rows, int64_t k, float* y) {
  constexpr int streams = 4;
  constexpr int64_t ahead = 1024, values = Format::values, bytes = Format::bytes;
  const int64_t rest = k % values, row_bytes = k / values * bytes + rest * bytes / values, quarter = (rows + streams - 1) / streams;
  for (int64_t n = 0; n < quarter; ++n) {
    const char* row[streams];
    int64_t index[streams];
    unroll<streams>([&](auto s) {
      const int64_t i = s * quarter + n;
      index[s] = i < rows ? i : rows - 1;
      row[s] = w + index[s] * row_bytes;
    });
    V total = zero();
    for (int64_t k0 = 0; k0 < k; k0 += dot_chunk) {
      V acc[streams];
      unroll<streams>([&](auto s) { acc[s] = zero(); });
      const float* left = x + k0;
      const int64_t count = k - k0 < dot_chunk ? k - k0 : dot_chunk;
      for (const float* end = left + count / values * values; left < end; left += values) {
        const typename Format::Scales scales[] = {typename Format::Scales(row[0]), typename Format::Scales(row[1]),
                                                  typename Format::Scales(row[2]), typename Format::Scales(row[3])};
        unroll<Format::parts>([&](auto part) {
          unroll<streams>([&](auto s) {
            Format::template decode<part>(row[s], scales[s], [&](auto i, V v) { acc[s] = fma(load(left + i * W), v, acc[s]); });
          });
        });
        unroll<streams>([&](auto s) {
          for (int64_t line = 0; line < bytes; line += 64) __builtin_prefetch(row[s] + ahead + line);
          row[s] += bytes;
        });
      }
      if (Format::parts == 1 && count % values)
        unroll<streams>([&](auto s) {
          alignas(64) float last[values];
          rest_of<Format>(row[s], rest, last);
          for_lanes(rest, [&](int64_t i, int64_t left_over) { acc[s] = fma(load_upto(left + i, left_over), load(last + i), acc[s]); });
        });
      V u[quarters];
      unroll<quarters>([&](auto i) { u[i] = i == 0 ? quarter_sums(acc[0], acc[1], acc[2], acc[3]) : zero(); });
      total = k0 == 0 ? lane_sums(u) : total + lane_sums(u);
    }
    alignas(64) float sums[W];
    store(sums, total);
    unroll<streams>([&](auto s) { y[index[s]] = sums[s]; });
  }
}

void row_dots(RowType type, const float* x, const void* w, int64_t rows, int64_t k, float* y) {
  with_format(type, [&](auto format) { dots_of<decltype(format)>(x, static_cast<const char*>(w), rows, k, y); });
}

template <class Format> void widen_of(const char* p, int64_t n, float* y) {
  for (; n >= Format::values; n -= Format::values, p += Format::bytes, y += Format::values)
    decode_block<Format>(p, [&](auto i, V v) { store(y + i * W, v); });
  if (n == 0) return;
  alignas(64) float last[Format::values];
  rest_of<Format>(p, n, last);
  for_lanes(n, [&](int64_t i, int64_t left) { store_upto(y + i, left, load(last + i)); });
}

void widen_row(RowType type, const void* w, int64_t n, float* y) {
  with_format(type, [&](auto format) { widen_of<decltype(format)>(static_cast<const char*>(w), n, y); });
}

}  // namespace
}  // namespace hearth::cpu
