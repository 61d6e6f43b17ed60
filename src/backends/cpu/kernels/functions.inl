// exp, sigmoid and the activations on a register. Included once by each instruction set.

namespace hearth::cpu {
namespace {

constexpr int panel_width = 2 * W;  // columns of a product tile

// exp(x) = 2ⁿ·e^f with |f| ≤ ln 2 / 2. Error at most 1.02 ulp (measured by kernels_test.cpp); results below the smallest
// normal number may be flushed to zero, those above the largest are infinite, NaN stays NaN.
HEARTH_INLINE V exp(V x) {
  x = min(set(90.0f), max(set(-105.0f), x));
  const V n = round(x * set(1.44269504f));
  V f = fnma(n, set(0.693359375f), x);  // ln 2 in two parts: the first has few bits, so that n times it is exact
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
  const V tail = set(0.5f) * exp(whole * q);  // beyond the range of the fit the exponent keeps decreasing
  const V far = select(less(x, zero()), tail, set(1.0f) - tail);
  return x * select(less(z, set(1.0f)), near, far);
}

// ½(1 + tanh u) = sigmoid(2u)
HEARTH_INLINE V gelu_tanh(V x) { return x * sigmoid(set(1.59576912f) * fma(set(0.044715f) * x * x, x, x)); }
HEARTH_INLINE V quick_gelu(V x) { return x * sigmoid(set(1.702f) * x); }
HEARTH_INLINE V relu(V x) { return max(zero(), x); }  // NaN stays NaN

// The magnitude of a with the sign of b.
HEARTH_INLINE V with_sign_of(V a, V b) {
  const I sign = as_integers(set(-0.0f));
  return as_floats(as_integers(abs(a)) | (as_integers(b) & sign));
}

// Near zero x + x³·p(x²), where 1 − 2 / (e²ˣ + 1) would cancel; tanh keeps the sign of −0.
HEARTH_INLINE V tanh(V x) {
  const V a = abs(x), s = a * a;
  V p = set(0.00229273223f);  // (tanh(a) / a − 1) / a², Chebyshev
  p = fma(p, s, set(-0.00834393437f));
  p = fma(p, s, set(0.0217689152f));
  p = fma(p, s, set(-0.0539592592f));
  p = fma(p, s, set(0.133333036f));
  p = fma(p, s, set(-0.333333332f));
  const V near = fma(a * s, p, a), far = set(1.0f) - set(2.0f) / (exp(a + a) + set(1.0f));
  return with_sign_of(select(less(a, set(0.625f)), near, far), x);
}

// max(x, 0) + ln(1 + u) with u = e^−|x|;  ln(1 + u) = 2·artanh(s), s = u / (2 + u) ≤ 1/3, with a small relative error for any u.
HEARTH_INLINE V softplus(V x) {
  const V u = exp(-abs(x)), s = u / (u + set(2.0f)), t = s * s;
  V p = set(0.116121646f);  // (artanh(s) / s − 1) / s², Chebyshev
  p = fma(p, t, set(0.108532879f));
  p = fma(p, t, set(0.14296179f));
  p = fma(p, t, set(0.199998532f));
  p = fma(p, t, set(0.333333337f));
  const V half = fma(s * t, p, s);
  return relu(x) + (half + half);
}

HEARTH_INLINE V squared_relu(V x) {
  const V r = relu(x);
  return r * r;
}

template <Act act> HEARTH_INLINE V activated(V x) {
  if constexpr (act == Act::silu) return silu(x);
  else if constexpr (act == Act::gelu) return gelu(x);
  else if constexpr (act == Act::gelu_tanh) return gelu_tanh(x);
  else if constexpr (act == Act::quick_gelu) return quick_gelu(x);
  else if constexpr (act == Act::relu) return relu(x);
  else if constexpr (act == Act::sigmoid) return sigmoid(x);
  else if constexpr (act == Act::tanh) return tanh(x);
  else if constexpr (act == Act::softplus) return softplus(x);
  else if constexpr (act == Act::squared_relu) return squared_relu(x);
  else {
    static_assert(act == Act::none);
    return x;
  }
}

template <auto n> struct Constant {
  static constexpr auto value = n;
  constexpr operator decltype(n)() const { return n; }
};

// f(Constant<0>) … f(Constant<count − 1>), unrolled.
template <int count, int from = 0, class F> HEARTH_INLINE void unroll(const F& f) {
  if constexpr (from < count) {
    f(Constant<from>{});
    unroll<count, from + 1>(f);
  }
}

// f(Constant<act>) for the activation given at run time. The compiler warns if one is missing.
template <class F> HEARTH_INLINE void with_activation(Act act, const F& f) {
  switch (act) {
    case Act::none: return f(Constant<Act::none>{});
    case Act::silu: return f(Constant<Act::silu>{});
    case Act::gelu: return f(Constant<Act::gelu>{});
    case Act::gelu_tanh: return f(Constant<Act::gelu_tanh>{});
    case Act::quick_gelu: return f(Constant<Act::quick_gelu>{});
    case Act::relu: return f(Constant<Act::relu>{});
    case Act::sigmoid: return f(Constant<Act::sigmoid>{});
    case Act::tanh: return f(Constant<Act::tanh>{});
    case Act::softplus: return f(Constant<Act::softplus>{});
    case Act::squared_relu: return f(Constant<Act::squared_relu>{});
  }
}

// f(offset, lanes left) for each register of n values; fewer than W only in the last.
template <class F> HEARTH_INLINE void for_lanes(int64_t n, const F& f) {
  for (int64_t i = 0; i < n; i += W) f(i, n - i);
}
HEARTH_INLINE V load_upto(const float* p, int64_t n) { return n >= W ? load(p) : load_n(p, n); }
HEARTH_INLINE void store_upto(float* p, int64_t n, V v) { n >= W ? store(p, v) : store_n(p, n, v); }

// v·factor() + added(), or only one of the two.
template <bool scaled, bool shifted, class Factor, class Added> HEARTH_INLINE V adjusted(V v, const Factor& factor, const Added& added) {
  if constexpr (scaled && shifted) return fma(v, factor(), added());
  else if constexpr (scaled) return v * factor();
  else if constexpr (shifted) return v + added();
  else return v;
}

// f(Constant<first>, Constant<second>)
template <class F> HEARTH_INLINE void with_flags(bool first, bool second, const F& f) {
  if (first) second ? f(Constant<true>{}, Constant<true>{}) : f(Constant<true>{}, Constant<false>{});
  else second ? f(Constant<false>{}, Constant<true>{}) : f(Constant<false>{}, Constant<false>{});
}

}  // namespace
}  // namespace hearth::cpu
