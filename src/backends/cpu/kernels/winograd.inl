// The three transforms of F(4×4, 3×3) (Winograd 1980; Lavin & Gray 2016) with the points 0, 1, −1, ½, −2, ∞: with the usual
// 0, ±1, ±2 the error is half as large again. Included once by each instruction set.

namespace hearth::cpu {
namespace {

// Bᵀd, Gg and Aᵀm in one dimension.
HEARTH_INLINE void input_points(const V (&d)[6], V (&t)[6]) {
  const V a = d[3] - d[1], b = d[4] - d[2], c = set(1.5f);
  t[0] = fma(c, a, (d[0] - d[2]) + b);
  t[1] = fma(c, d[2] + d[3], a + b);
  t[2] = fma(c, d[3] - d[2], b - a);
  t[3] = fma(set(2.0f), a, b);
  t[4] = fnma(set(0.5f), a, b);
  t[5] = fma(c, b, (d[5] - d[3]) - a);
}
HEARTH_INLINE void weight_points(const V (&g)[3], V (&t)[6]) {
  const V ends = g[0] + g[2];
  t[0] = g[0];
  t[1] = (ends + g[1]) * set(1.0f / 3);
  t[2] = (g[1] - ends) * set(1.0f / 3);
  t[3] = fma(set(4.0f), g[0], fma(set(2.0f), g[1], g[2])) * set(-4.0f / 15);
  t[4] = fma(set(4.0f), g[2], fnma(set(2.0f), g[1], g[0])) * set(1.0f / 15);
  t[5] = g[2];
}
HEARTH_INLINE void output_points(const V (&m)[6], V (&y)[4]) {
  const V sum = m[1] + m[2], difference = m[1] - m[2];
  y[0] = (m[0] + sum) + (m[3] + m[4]);
  y[1] = fnma(set(2.0f), m[4], fma(set(0.5f), m[3], difference));
  y[2] = fma(set(4.0f), m[4], fma(set(0.25f), m[3], sum));
  y[3] = fnma(set(8.0f), m[4], fma(set(0.125f), m[3], difference)) + m[5];
}

// to(i, j, value) for the transform of from(i, j), first along i, then along j.
template <int in, int out, class Points, class From, class To>
HEARTH_INLINE void transform(const Points& points, const From& from, const To& to) {
  V half[out][in];
  unroll<in>([&](auto j) {
    V column[in], t[out];
    unroll<in>([&](auto i) { column[i] = from(i, j); });
    points(column, t);
    unroll<out>([&](auto i) { half[i][j] = t[i]; });
  });
  unroll<out>([&](auto i) {
    V t[out];
    points(half[i], t);
    unroll<out>([&](auto j) { to(i, j, t[j]); });
  });
}

void winograd_input(const float* const* pixels, int64_t channels, float* v, int64_t v_stride) {
  for_lanes(channels, [&](int64_t c, int64_t left) {
    transform<6, 6>([](const V(&d)[6], V(&t)[6]) { input_points(d, t); },
                    [&](int i, int j) {
                      const float* p = pixels[6 * i + j];
                      return p ? load_upto(p + c, left) : zero();
                    },
                    [&](int i, int j, V value) { store_upto(v + (6 * i + j) * v_stride + c, left, value); });
  });
}

void winograd_weight(const float* g, int64_t tap_stride, int64_t count, float* u, int64_t u_stride) {
  for (int64_t n = 0; n < count; n += W)
    transform<3, 6>([](const V(&w)[3], V(&t)[6]) { weight_points(w, t); },
                    [&](int i, int j) { return load(g + (3 * i + j) * tap_stride + n); },
                    [&](int i, int j, V value) { store(u + (6 * i + j) * u_stride + n, value); });
}

void winograd_output(const float* m, int64_t m_stride, bool wide, float* y) {
  for (int64_t n = 0; n < (wide ? 2 * W : W); n += W)
    transform<6, 4>([](const V(&d)[6], V(&t)[4]) { output_points(d, t); },
                    [&](int i, int j) { return load(m + (6 * i + j) * m_stride + n); },
                    [&](int i, int j, V value) { store(y + (4 * i + j) * panel_width + n, value); });
}

}  // namespace
}  // namespace hearth::cpu
