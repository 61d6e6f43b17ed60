// Depthwise convolution. Included once by each instruction set.

namespace hearth::cpu {
namespace {

template <int rows>
void depthwise_rows_of(const float* const* pixels, int64_t taps, const float* w, int64_t w_stride, int64_t n, float* y, int64_t y_stride) {
  const auto columns = [&](int64_t i, const auto& get, const auto& put) {
    V sum[rows];
    unroll<rows>([&](auto r) { sum[r] = zero(); });
    for (int64_t t = 0; t < taps; ++t) {
      const V weight = get(w + t * w_stride + i);
      unroll<rows>([&](auto r) { sum[r] = fma(get(pixels[r * taps + t] + i), weight, sum[r]); });
    }
    unroll<rows>([&](auto r) { put(y + r * y_stride + i, sum[r]); });
  };
  int64_t i = 0;
  for (; i + W <= n; i += W)
    columns(
        i, [](const float* p) { return load(p); }, [](float* p, V v) { store(p, v); });
  if (i < n)
    columns(
        i, [&](const float* p) { return load_n(p, n - i); }, [&](float* p, V v) { store_n(p, n - i, v); });
}

void depthwise(const float* const* pixels, int64_t taps, int64_t rows, const float* w, int64_t w_stride, int64_t n, float* y,
               int64_t y_stride) {
  switch (rows) {
    case 1: return depthwise_rows_of<1>(pixels, taps, w, w_stride, n, y, y_stride);
    case 2: return depthwise_rows_of<2>(pixels, taps, w, w_stride, n, y, y_stride);
    case 3: return depthwise_rows_of<3>(pixels, taps, w, w_stride, n, y, y_stride);
    default: return depthwise_rows_of<4>(pixels, taps, w, w_stride, n, y, y_stride);
  }
}

}  // namespace
}  // namespace hearth::cpu
