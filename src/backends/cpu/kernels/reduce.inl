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

// 2ᵗ for t ≤ 0, relative error 2.6e-6: its results are rounded to bf16, or summed with such results. NaN stays NaN.
HEARTH_INLINE V power_of_two(V t) {
  t = max(set(-200.0f), t);
  const V n = round(t), f = t - n;
  V p = set(0.009570101f);
  p = fma(p, f, set(0.05591786f));
  p = fma(p, f, set(0.24024744f));
  p = fma(p, f, set(0.6931218f));
  p = fma(p, f, set(0.9999993f));
  return times_power_of_two(p, n);
}

constexpr float log2_e = 1.44269504f;

void softmax_rows(const float* s, int64_t s_stride, int64_t rows, int64_t keys, const int64_t* visible, float* m, float* l, float* o,
                  int64_t columns, uint16_t* weights) {
  for (int64_t r = 0; r < rows; ++r, s += s_stride, weights += s_stride, o += columns) {
    const int64_t n = visible[r], whole = n / W * W;
    int64_t k = 0;
    V high[2] = {set(-__builtin_inff()), set(-__builtin_inff())};
    for (; k + 2 * W <= n; k += 2 * W) unroll<2>([&](auto j) { high[j] = max(high[j], load(s + k + j * W)); });
    float top = max_lanes(max(high[0], high[1]));
    for (; k < n; ++k) top = s[k] > top ? s[k] : top;

    // In units of the exponent. The same rounded number is subtracted everywhere, so that blocks of keys are consistent.
    const float scaled = top * log2_e, last_top = m[r];
    top = scaled > last_top ? scaled : last_top;
    const V factor = set(log2_e), shift = set(-top);
    V sum = zero();
    for (k = 0; k < whole; k += W) {
      const V weight = power_of_two(fma(load(s + k), factor, shift));
      sum = sum + weight;
      store_factor(weights + k, weight);
    }
    if (k < n) {
      alignas(64) float last[W] = {};
      store_n(last, n - k, power_of_two(fma(load_n(s + k, n - k), factor, shift)));
      sum = sum + load(last);
      store_factor(weights + k, load(last));
      k += W;
    }
    for (; k < keys; k += W) store_factor(weights + k, zero());
    if (n == 0) continue;
    if (top == last_top) {
      l[r] += sum_lanes(sum);
      continue;
    }
    const V shrink = power_of_two(set(last_top - top));
    alignas(64) float lanes[W];
    store(lanes, shrink);
    l[r] = l[r] * lanes[0] + sum_lanes(sum);
    m[r] = top;
    for_lanes(columns, [&](int64_t c, int64_t left) { store_upto(o + c, left, load_upto(o + c, left) * shrink); });
  }
}

// As the product o [rows][panel] += v · s, except that a weight of zero adds nothing.
void seen_rows(const float* s, int64_t keys, const float* v, int64_t v_stride, float* o, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r) {
    V sum[2] = {zero(), zero()};
    for (int64_t k = 0; k < keys; ++k)
      unroll<2>([&](auto j) {
        const V weight = load(s + k * panel_width + j * W);
        sum[j] = select(less(zero(), weight), fma(set(v[r * v_stride + k]), weight, sum[j]), sum[j]);
      });
    unroll<2>([&](auto j) {
      float* p = o + r * panel_width + j * W;
      store(p, load(p) + sum[j]);
    });
  }
}

// Σ f(register, lanes) over n values in a fixed order: four running registers, then their tree, then the rest.
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
  // The mean of f32 partial sums is off by some ulps; the second pass measures the deviation.
  const auto centerd = [guess](V v, V ones, bool partly) { return partly ? (v - set(guess)) * ones : v - set(guess); };
  const float rest = sum_of(x, n, centerd) / float(n);
  const float sum = sum_of(x, n, [&](V v, V ones, bool partly) {
    const V d = centerd(v, ones, partly);
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

void normalize(const float* x, int64_t n, float mean, float rstd, const RowAffine& a, float* y) {
  with_flags(a.gamma, a.beta, [&](auto has_gamma, auto has_beta) {
    with_flags(a.scale, a.shift, [&](auto has_scale, auto has_shift) {
      for_lanes(n, [&](int64_t i, int64_t left) {
        V v = (load_upto(x + i, left) - set(mean)) * set(rstd);
        const auto at = [&](const float* p) { return load_upto(p + i, left); };
        v = adjusted<has_gamma, has_beta>(
            v, [&] { return at(a.gamma); }, [&] { return at(a.beta); });
        v = adjusted<has_scale, has_shift>(
            v, [&] { return at(a.scale) + set(1.0f); }, [&] { return at(a.shift); });
        store_upto(y + i, left, v);
      });
    });
  });
}

float squares(const float* x, int64_t n) {
  return sum_of(x, n, [](V v, V, bool) { return v * v; });  // lanes beyond the end are loaded as zeros
}

template <Act act>
void normalize_columns_and(const float* x, int64_t rows, int64_t columns, const float* mean, const float* factor, const float* beta,
                           float* y) {
  for (int64_t r = 0; r < rows; ++r)
    for_lanes(columns, [&](int64_t c, int64_t left) {
      const V centerd = load_upto(x + r * columns + c, left) - load_upto(mean + c, left);
      store_upto(y + r * columns + c, left, activated<act>(fma(centerd, load_upto(factor + c, left), load_upto(beta + c, left))));
    });
}

void normalize_columns(const float* x, int64_t rows, int64_t columns, const float* mean, const float* factor, const float* beta,
                       Act activation, float* y) {
  with_activation(activation, [&](auto act) { normalize_columns_and<decltype(act)::value>(x, rows, columns, mean, factor, beta, y); });
}

}  // namespace
}  // namespace hearth::cpu
