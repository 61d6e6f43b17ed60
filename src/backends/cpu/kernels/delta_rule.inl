// Recurrences over a matrix or a vector, token by token. Included once by each instruction set.

namespace hearth::cpu {
namespace {

constexpr int delta_registers = 4;

// f(register, the pointer's offset, lanes left) for the registers of a row of columns.
template <class F> HEARTH_INLINE void each_column(int64_t columns, const F& f) {
  unroll<delta_registers>([&](auto i) { f(i, i * W, columns - i * W); });
}
HEARTH_INLINE V load_some(const float* p, int64_t left) { return left <= 0 ? zero() : load_upto(p, left); }

// Σ_j coefficient[j] · S[j], with two sums for even and odd j.
HEARTH_INLINE void weighted_rows(const float* s, const float* coefficient, int64_t keys, V* sum) {
  V odd[delta_registers];
  unroll<delta_registers>([&](auto i) { sum[i] = odd[i] = zero(); });
  int64_t j = 0;
  for (; j + 2 <= keys; j += 2, s += 2 * delta_registers * W) {
    const V c0 = set(coefficient[j]), c1 = set(coefficient[j + 1]);
    unroll<delta_registers>([&](auto i) {
      sum[i] = fma(load(s + i * W), c0, sum[i]);
      odd[i] = fma(load(s + (delta_registers + i) * W), c1, odd[i]);
    });
  }
  if (j < keys) unroll<delta_registers>([&](auto i) { sum[i] = fma(load(s + i * W), set(coefficient[j]), sum[i]); });
  unroll<delta_registers>([&](auto i) { sum[i] = sum[i] + odd[i]; });
}

// One token. S [keys][registers]: the state's columns, zeros beyond the last.
template <DeltaRuleScan::Kind kind, bool before> HEARTH_INLINE void delta_token(const DeltaRuleScan& s, int64_t t, float* state) {
  using Kind = DeltaRuleScan::Kind;
  const float *q = s.q + t * s.k_stride, *k = s.k + t * s.k_stride, *decay = s.decay + t * s.decay_stride;
  const float* b = kind == Kind::ab ? s.b + t * s.a_stride : nullptr;
  V v[delta_registers], seen[delta_registers], y[delta_registers];
  each_column(s.columns, [&](auto i, int64_t at, int64_t left) { v[i] = load_some(s.v + t * s.v_stride + at, left); });
  if constexpr (kind == Kind::ab) {
    weighted_rows(state, s.a + t * s.a_stride, s.keys, seen);
  } else if constexpr (kind == Kind::beta) {
    if (s.decay_step == 0) {
      weighted_rows(state, k, s.keys, seen);
      unroll<delta_registers>([&](auto i) { seen[i] = seen[i] * set(decay[0]); });
    } else {
      unroll<delta_registers>([&](auto i) { seen[i] = zero(); });
      for (int64_t j = 0; j < s.keys; ++j)
        unroll<delta_registers>(
            [&](auto i) { seen[i] = fma(load(state + (j * delta_registers + i) * W) * set(decay[j]), set(k[j]), seen[i]); });
    }
    unroll<delta_registers>([&](auto i) { v[i] = set(s.beta[t * s.beta_stride]) * (v[i] - seen[i]); });
  }
  unroll<delta_registers>([&](auto i) { y[i] = zero(); });
  float* row = state;
  for (int64_t j = 0; j < s.keys; ++j, row += delta_registers * W) {
    const V w = set(decay[j * s.decay_step]), kj = set(k[j]), qj = set(q[j]);
    unroll<delta_registers>([&](auto i) {
      const V old = load(row + i * W);
      V now = old * w;
      if constexpr (kind == Kind::ab) now = fma(set(b[j]), seen[i], now);
      now = fma(kj, v[i], now);
      store(row + i * W, now);
      y[i] = fma(qj, before ? old : now, y[i]);
    });
  }
  each_column(s.columns, [&](auto i, int64_t at, int64_t left) {
    if (left > 0) store_upto(s.y + t * s.y_stride + at, left, y[i]);
  });
}

template <DeltaRuleScan::Kind kind, bool before> void delta_tokens(const DeltaRuleScan& s) {
  float* const state = s.scratch;
  for (int64_t j = 0; j < s.keys; ++j)
    each_column(s.columns, [&](auto i, int64_t at, int64_t left) {
      store(state + (j * delta_registers + i) * W, load_some(s.state + j * s.state_stride + at, left));
    });
  for (int64_t t = 0; t < s.tokens; ++t) delta_token<kind, before>(s, t, state);
  for (int64_t j = 0; j < s.keys; ++j)
    each_column(s.columns, [&](auto i, int64_t at, int64_t left) {
      if (left > 0) store_upto(s.state + j * s.state_stride + at, left, load(state + (j * delta_registers + i) * W));
    });
}

void delta_rule(const DeltaRuleScan& s) {
  using Kind = DeltaRuleScan::Kind;
  const auto with = [&](auto kind) {
    s.reads_before ? delta_tokens<decltype(kind)::value, true>(s) : delta_tokens<decltype(kind)::value, false>(s);
  };
  switch (s.kind) {
    case Kind::plain: return with(Constant<Kind::plain>{});
    case Kind::beta: return with(Constant<Kind::beta>{});
    case Kind::ab: return with(Constant<Kind::ab>{});
  }
}

void add_weighted(const float* base, const float* q, const float* k, const float* u, int64_t keys, const float* v, int64_t n, float* y) {
  V sum = zero();
  for_lanes(keys,
            [&](int64_t i, int64_t left) { sum = fma(load_upto(q + i, left) * load_upto(u + i, left), load_upto(k + i, left), sum); });
  const V weight = set(sum_lanes(sum));
  for_lanes(n, [&](int64_t i, int64_t left) { store_upto(y + i, left, fma(weight, load_upto(v + i, left), load_upto(base + i, left))); });
}

// 1 − a² = 1 − exp(2·log_a) = 2·τ / (1 + τ) with τ = tanh(−log_a), without cancellation.
void gated_scan(const float* x, const float* log_a, int64_t tokens, int64_t n, int64_t stride, bool starts, float* state, float* y) {
  for_lanes(n, [&](int64_t i, int64_t left) {
    V h = load_upto(state + i, left);
    for (int64_t t = 0; t < tokens; ++t) {
      const V g = load_upto(log_a + t * stride + i, left), u = tanh(zero() - g);
      const V factor = starts && t == 0 ? set(1.0f) : sqrt((u + u) / (set(1.0f) + u));
      h = fma(exp(g), h, factor * load_upto(x + t * stride + i, left));
      store_upto(y + t * stride + i, left, h);
    }
    store_upto(state + i, left, h);
  });
}

}  // namespace
}  // namespace hearth::cpu
