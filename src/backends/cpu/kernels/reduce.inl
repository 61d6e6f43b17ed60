// Softmax blocks and norm statistics. Included once by each instruction set.

namespace hearth::cpu {
namespace {

void softmax_block(float* s, int64_t keys, float* m, float* l, float* o, int64_t rows) {
  V old[2], high[2], sum[2];
  unroll<2>([&](auto j) { old[j] = high[j] = load(m + j * W); });
  for (int64_t k = 0; k < keys; ++k) unroll<2>([&](auto j) { high[j] = max(high[j], load(s + k * panel_width + j * W)); });
  unroll<2>([&](auto j) { sum[j] = zero(); });
  for (int64_t k = 0; k < keys; ++k)
    unroll<2>([&](auto j) {
      float* p = s + k * panel_width + j * W;
      const V weight = exp(load(p) - high[j]);
      sum[j] = sum[j] + weight;
      store(p, weight);
    });
  V shrink[2];
  unroll<2>([&](auto j) {
    shrink[j] = exp(old[j] - high[j]);
    store(m + j * W, high[j]);
    store(l + j * W, fma(load(l + j * W), shrink[j], sum[j]));
  });
  for (int64_t r = 0; r < rows; ++r)
    unroll<2>([&](auto j) {
      float* p = o + r * panel_width + j * W;
      store(p, load(p) * shrink[j]);
    });
}

// As the product o [rows][panel] += v · s, but only the lanes from `first` + key on see a key.
void causal_rows(const float* s, int64_t keys, int64_t first, const float* v, int64_t v_stride, float* o, int64_t rows) {
  alignas(64) float lane[panel_width];
  for (int j = 0; j < panel_width; ++j) lane[j] = float(j);
  for (int64_t r = 0; r < rows; ++r)
    unroll<2>([&](auto j) {
      V sum = zero();
      for (int64_t k = 0; k < keys; ++k) {
        const V added = fma(set(v[r * v_stride + k]), load(s + k * panel_width + j * W), sum);
        sum = select(less(load(lane + j * W), set(float(first + k))), sum, added);
      }
      float* p = o + r * panel_width + j * W;
      store(p, load(p) + sum);
    });
}

// Σ f(register, lanes) over n numbers in a fixed order: four running registers, then their tree, then the rest.
template <class F> HEARTH_INLINE float sum_of(const float* x, int64_t n, const F& f) {
  V sum[4];
  unroll<4>([&](auto j) { sum[j] = zero(); });
  int64_t i = 0;
  for (; i + 4 * W <= n; i += 4 * W) unroll<4>([&](auto j) { sum[j] = sum[j] + f(load(x + i + j * W), set(0), false); });
  V rest = zero();
  for (; i < n; i += W) {
    const int64_t left = n - i;
    if (left >= W) {
      rest = rest + f(load(x + i), set(0), false);
    } else {
      alignas(64) float ones[W] = {};
      for (int64_t k = 0; k < left; ++k) ones[k] = 1;
      rest = rest + f(load_n(x + i, left), load(ones), true);
    }
  }
  return sum_lanes(((sum[0] + sum[1]) + (sum[2] + sum[3])) + rest);
}

void moments(const float* x, int64_t n, float* mean, float* squares) {
  const float guess = sum_of(x, n, [](V v, V, bool) { return v; }) / float(n);
  // The mean of f32 partial sums is off by some ulp of itself: the second pass measures by how much.
  const auto centred = [guess](V v, V ones, bool partly) { return partly ? (v - set(guess)) * ones : v - set(guess); };
  const float rest = sum_of(x, n, centred) / float(n);
  const float sum = sum_of(x, n, [&](V v, V ones, bool partly) {
    const V d = centred(v, ones, partly);
    return d * d;
  });
  const float corrected = sum - float(n) * rest * rest;
  *mean = guess + rest;
  *squares = corrected > 0 || corrected != corrected ? corrected : 0;
}

void column_moments(const float* x, int64_t rows, int64_t columns, float* mean, float* squares) {
  for_lanes(columns, [&](int64_t c, int64_t left) {
    V sum = zero();
    for (int64_t r = 0; r < rows; ++r) sum = sum + load_upto(x + r * columns + c, left);
    const V inverse = set(1.0f / float(rows)), guess = sum * inverse;
    V rest = zero(), square = zero();
    for (int64_t r = 0; r < rows; ++r) {
      const V d = load_upto(x + r * columns + c, left) - guess;
      rest = rest + d;
      square = fma(d, d, square);
    }
    const V off = rest * inverse;
    store_upto(mean + c, left, guess + off);
    store_upto(squares + c, left, max(zero(), square - rest * off));
  });
}

void normalize(const float* x, int64_t n, float mean, float rstd, const float* gamma, const float* beta, float* y) {
  for_lanes(n, [&](int64_t i, int64_t left) {
    const V scaled = (load_upto(x + i, left) - set(mean)) * set(rstd);
    store_upto(y + i, left, fma(scaled, load_upto(gamma + i, left), load_upto(beta + i, left)));
  });
}

template <int act>
void normalize_columns_and(const float* x, int64_t rows, int64_t columns, const float* mean, const float* factor, const float* beta,
                           float* y) {
  for (int64_t r = 0; r < rows; ++r)
    for_lanes(columns, [&](int64_t c, int64_t left) {
      const V centred = load_upto(x + r * columns + c, left) - load_upto(mean + c, left);
      store_upto(y + r * columns + c, left, activated<act>(fma(centred, load_upto(factor + c, left), load_upto(beta + c, left))));
    });
}

void normalize_columns(const float* x, int64_t rows, int64_t columns, const float* mean, const float* factor, const float* beta,
                       int activation, float* y) {
  with_activation(activation, [&](auto act) { normalize_columns_and<decltype(act)::value>(x, rows, columns, mean, factor, beta, y); });
}

}  // namespace
}  // namespace hearth::cpu
