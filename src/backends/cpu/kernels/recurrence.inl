// Recurrences over tokens: lanes are channels. Included once by each instruction set.

namespace hearth::cpu {
namespace {

// Channels i … i + W − 1 of all tokens, with the decays and the state in scratch: rows of the state would fall into the same cache sets.
void selective_scan(const SelectiveScan& s) {
  float *const a = s.scratch, *const state = s.scratch + s.states * W;
  for_lanes(s.channels, [&](int64_t i, int64_t left) {
    for (int64_t n = 0; n < s.states; ++n) {
      store(a + n * W, load_upto(s.a + n * s.state_stride + i, left));
      store(state + n * W, load_upto(s.state + n * s.state_stride + i, left));
    }
    const V d = s.d ? load_upto(s.d + i, left) : zero();
    for (int64_t t = 0; t < s.tokens; ++t) {
      const V x = load_upto(s.x + t * s.x_stride + i, left), dt = load_upto(s.dt + t * s.dt_stride + i, left), in = dt * x;
      const float *const b = s.b + t * s.b_stride, *const c = s.c + t * s.c_stride;
      V y = zero();
      for (int64_t n = 0; n < s.states; ++n) {
        const V next = fma(exp(dt * load(a + n * W)), load(state + n * W), in * set(b[n]));
        store(state + n * W, next);
        y = fma(next, set(c[n]), y);
      }
      store_upto(s.y + t * s.y_stride + i, left, fma(d, x, y));
    }
    for (int64_t n = 0; n < s.states; ++n) store_upto(s.state + n * s.state_stride + i, left, load(state + n * W));
  });
}

// `tokens` tokens from t on, which read and write the state once.
template <int tokens, bool whole> HEARTH_INLINE void state_space_steps(const StateSpaceScan& s, int64_t t) {
  const auto get = [&](const float* p, int i) {
    if constexpr (whole) return load(p + i * W);
    else return s.columns > i * W ? load_upto(p + i * W, s.columns - i * W) : zero();
  };
  const auto put = [&](float* p, int i, V v) {
    if constexpr (whole) store(p + i * W, v);
    else if (s.columns > i * W) store_upto(p + i * W, s.columns - i * W, v);
  };
  V in[tokens][2], y[tokens][2], decay[tokens];
  unroll<tokens>([&](auto j) {
    decay[j] = set(s.decay[(t + j) * s.step_stride]);
    const V step = set(s.step[(t + j) * s.step_stride]);
    unroll<2>([&](auto i) {
      in[j][i] = step * get(s.x + (t + j) * s.x_stride, i);
      y[j][i] = zero();
    });
  });
  const float *const b = s.b + t * s.b_stride, *const c = s.c + t * s.c_stride;
  for (int64_t n = 0; n < s.states; ++n) {
    float* const row = s.state + n * s.state_stride;
    V h[2];
    unroll<2>([&](auto i) { h[i] = get(row, i); });
    unroll<tokens>([&](auto j) {
      const V own_b = set(b[j * s.b_stride + n]), own_c = set(c[j * s.c_stride + n]);
      unroll<2>([&](auto i) {
        h[i] = fma(in[j][i], own_b, decay[j] * h[i]);
        y[j][i] = fma(h[i], own_c, y[j][i]);
      });
    });
    unroll<2>([&](auto i) { put(row, i, h[i]); });
  }
  unroll<tokens>([&](auto j) {
    unroll<2>([&](auto i) { put(s.y + (t + j) * s.y_stride, i, fma(set(s.d), get(s.x + (t + j) * s.x_stride, i), y[j][i])); });
  });
}

template <bool whole> HEARTH_INLINE void state_space_tokens(const StateSpaceScan& s) {
  int64_t t = 0;
  for (; t + 2 <= s.tokens; t += 2) state_space_steps<2, whole>(s, t);
  if (t < s.tokens) state_space_steps<1, whole>(s, t);
}

void state_space_scan(const StateSpaceScan& s) {
  if (s.columns == 2 * W) state_space_tokens<true>(s);
  else state_space_tokens<false>(s);
}

void clamp(float* x, int64_t n, float least, float most) {
  map(x, n, x, [low = set(least), high = set(most)](V v) { return max(low, min(high, v)); });
}

}  // namespace
}  // namespace hearth::cpu
