// Attention over parts of the keys, and merging of the parts. Included once by each instruction set.

namespace hearth::cpu {
namespace {

// W values of a row from d on, zeros beyond its end.
template <class Format> HEARTH_INLINE V values_of(const char* row, int64_t d) {
  if constexpr (Format::bytes == 34) return widen_i8(load_bytes(row + d / 32 * 34 + 2 + d % 32)) * broadcast_f16(row + d / 32 * 34);
  else if constexpr (Format::bytes == 128) return load(reinterpret_cast<const float*>(row) + d);
  else if constexpr (Format::bf16) return load_bf16(reinterpret_cast<const uint16_t*>(row) + d);
  else return load_f16(reinterpret_cast<const uint16_t*>(row) + d);
}
template <class Format> HEARTH_INLINE V values_upto(const char* row, int64_t d, int64_t n) {
  if (!row || d >= n) return zero();
  if (n - d >= W) return values_of<Format>(row, d);
  constexpr int64_t size = Format::bytes / 32;
  char last[4 * W] = {};
  __builtin_memcpy(last, row + d * size, size_t((n - d) * size));
  return values_of<Format>(last, 0);
}

// f(Format{}) for the dtypes in which keys and values are stored.
template <class F> HEARTH_INLINE void with_cache_format(RowType type, const F& f) {
  switch (type) {
    case row_f16: return f(RowF16{});
    case row_bf16: return f(RowBf16{});
    case row_q8_0: return f(RowQ80{});
    default: return f(RowF32{});
  }
}

void pack_keys(RowType type, const void* const* rows, int64_t n, float* to) {
  with_cache_format(type, [&](auto format) {
    for_lanes(n, [&](int64_t d, int64_t left) {
      for (int half = 0; half < 2; ++half) {
        V r[W];
        unroll<W>([&](auto i) { r[i] = values_upto<decltype(format)>(static_cast<const char*>(rows[half * W + i]), d, n); });
        turn(r);
        for (int64_t i = 0; i < (left < W ? left : W); ++i) store(to + (d + i) * panel_width + half * W, r[i]);
      }
    });
  });
}

void pack_values(RowType type, const void* const* rows, int64_t n, float* to, int64_t step) {
  with_cache_format(type, [&](auto format) {
    for (int64_t r = 0; r < panel_width; ++r)
      for (int64_t d = 0; d < n; d += panel_width)
        unroll<2>([&](auto j) {
          const V v = values_upto<decltype(format)>(static_cast<const char*>(rows[r]), d + j * W, n);
          store(to + d / panel_width * step + r * panel_width + j * W, v);
        });
  });
}

void softmax_part(float* s, int64_t stride, int64_t first, int64_t last, int64_t panels, float* m, float* l) {
  // The keys of a panel are lanes; those outside of first … last are masked.
  alignas(64) float lane[panel_width];
  for (int j = 0; j < panel_width; ++j) lane[j] = float(j);
  const V hidden = set(-__builtin_inff());
  const auto visible = [&](int64_t p, auto j, V yes, V no) {
    const V key = load(lane + j * W) + set(float(p * panel_width));
    return select(less(key, set(float(first))), no, select(less(key, set(float(last))), yes, no));
  };
  V high[2] = {hidden, hidden};
  for (int64_t p = 0; p < panels; ++p)
    unroll<2>([&](auto j) { high[j] = max(high[j], visible(p, j, load(s + p * stride + j * W), hidden)); });
  *m = max_lanes(max(high[0], high[1]));
  V sum[2] = {zero(), zero()};
  for (int64_t p = 0; p < panels; ++p)
    unroll<2>([&](auto j) {
      float* at = s + p * stride + j * W;
      const V weight = visible(p, j, exp(load(at) - set(*m)), zero());
      sum[j] = sum[j] + weight;
      store(at, weight);
    });
  *l = sum_lanes(sum[0] + sum[1]);
}

void merge_part(float* m, float* l, float* o, float part_m, float part_l, const float* part_o, int64_t n) {
  const V high = max(set(*m), set(part_m)), keep = exp(set(*m) - high), take = exp(set(part_m) - high);
  alignas(64) float lanes[W];
  store(lanes, fma(set(part_l), take, set(*l) * keep));
  *l = lanes[0];
  store(lanes, high);
  *m = lanes[0];
  for_lanes(
      n, [&](int64_t i, int64_t left) { store_upto(o + i, left, fma(load_upto(part_o + i, left), take, load_upto(o + i, left) * keep)); });
}

}  // namespace
}  // namespace hearth::cpu
