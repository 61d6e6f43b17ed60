// exp, sigmoid and the activations on a register. Included once by each instruction set.

namespace hearth::cpu {
namespace {

constexpr int panel_width = 2 * W;  // columns of a product tile

// exp(x) = 2ⁿ·e^f with |f| ≤ ln 2 / 2. Error at most 1.02 ulp (measured by kernels_test.cpp); results below the smallest
// normal number may be flushed, above the largest they are infinite, NaN stays NaN.
HEARTH_INLINE V exp(V x) {
  x = min(set(90.0f), max(set(-105.0f), x));
  const V n = round(x * set(1.44269504f));
  V f = fnma(n, set(0.693359375f), x);  // ln 2 in two parts: the first has few bits, so n times it is exact
  f = fnma(n, set(-2.12194440e-4f), f);
  V p = set(0.001392625f);  // (e^f − 1 − f) / f², minimax
  p = fma(p, f, set(0.008363233f));
  p = fma(p, f, set(0.041666552f));
  p = fma(p, f, set(0.16666576f));
  p = fma(p, f, set(0.5f));
  return times_power_of_two(fma(f * f, p, f) + set(1.0f), n);
}

HEARTH_INLINE V sigmoid(V x) { return set(1.0f) / (set(1.0f) + exp(-x)); }
HEARTH_INLINE V silu(V x) { return x / (set(1.0f) + exp(-x)); }

// x·Φ(x). With z = |x|/√2: ½ + ½·erf z near zero, beyond z = 1 ½·erfc z = ½·exp(z·q(z)), q a minimax fit of ln erfc(z) / z.
HEARTH_INLINE V gelu(V x) {
  const V a = x * set(0.707106781f), whole = abs(a), z = min(set(6.0f), whole), s = a * a;
  V p = set(-9.667045e-06f);  // erf(a) / a
  p = fma(p, s, set(0.00011265959f));
  p = fma(p, s, set(-0.00084840803f));
  p = fma(p, s, set(0.0052210316f));
  p = fma(p, s, set(-0.02686543f));
  p = fma(p, s, set(0.11283782f));
  p = fma(p, s, set(-0.37612638f));
  p = fma(p, s, set(1.1283792f));
  const V near = fma(set(0.5f) * a, p, set(0.5f));
  V q = set(2.293961e-10f);
  q = fma(q, z, set(-1.0769635e-08f));
  q = fma(q, z, set(2.2902493e-07f));
  q = fma(q, z, set(-2.9108603e-06f));
  q = fma(q, z, set(2.448953e-05f));
  q = fma(q, z, set(-0.00014152525f));
  q = fma(q, z, set(0.0005500243f));
  q = fma(q, z, set(-0.0011897456f));
  q = fma(q, z, set(-0.0009075714f));
  q = fma(q, z, set(0.020519339f));
  q = fma(q, z, set(-0.10383097f));
  q = fma(q, z, set(-0.63616025f));
  q = fma(q, z, set(-1.1284666f));
  const V tail = set(0.5f) * exp(whole * q);  // beyond the fit's end the exponent goes on falling
  const V far = select(less(x, zero()), tail, set(1.0f) - tail);
  return x * select(less(z, set(1.0f)), near, far);
}

// ½(1 + tanh u) = sigmoid(2u)
HEARTH_INLINE V gelu_tanh(V x) { return x * sigmoid(set(1.59576912f) * fma(set(0.044715f) * x * x, x, x)); }
HEARTH_INLINE V quick_gelu(V x) { return x * sigmoid(set(1.702f) * x); }
HEARTH_INLINE V relu(V x) { return max(zero(), x); }  // NaN stays NaN

// As hearth::Activation.
enum { act_none, act_silu, act_gelu, act_gelu_tanh, act_quick_gelu, act_relu };

template <int act> HEARTH_INLINE V activated(V x) {
  if constexpr (act == act_silu) return silu(x);
  if constexpr (act == act_gelu) return gelu(x);
  if constexpr (act == act_gelu_tanh) return gelu_tanh(x);
  if constexpr (act == act_quick_gelu) return quick_gelu(x);
  if constexpr (act == act_relu) return relu(x);
  return x;
}

template <int n> struct Constant {
  static constexpr int value = n;
  constexpr operator int() const { return n; }
};

// f(Constant<0>) … f(Constant<count − 1>), written out.
template <int count, int from = 0, class F> HEARTH_INLINE void unroll(const F& f) {
  if constexpr (from < count) {
    f(Constant<from>{});
    unroll<count, from + 1>(f);
  }
}

// f(Constant<act>) for the activation that is asked for at run time.
template <class F> HEARTH_INLINE void with_activation(int act, const F& f) {
  switch (act) {
    case act_silu: return f(Constant<act_silu>{});
    case act_gelu: return f(Constant<act_gelu>{});
    case act_gelu_tanh: return f(Constant<act_gelu_tanh>{});
    case act_quick_gelu: return f(Constant<act_quick_gelu>{});
    case act_relu: return f(Constant<act_relu>{});
    default: return f(Constant<act_none>{});
  }
}

// f(offset, lanes left) for each register of n numbers; fewer than W only in the last.
template <class F> HEARTH_INLINE void for_lanes(int64_t n, const F& f) {
  for (int64_t i = 0; i < n; i += W) f(i, n - i);
}
HEARTH_INLINE V load_upto(const float* p, int64_t n) { return n >= W ? load(p) : load_n(p, n); }
HEARTH_INLINE void store_upto(float* p, int64_t n, V v) { n >= W ? store(p, v) : store_n(p, n, v); }

}  // namespace
}  // namespace hearth::cpu
