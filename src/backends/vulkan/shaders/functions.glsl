// Functions accurate to two or three units in the last place on every card, where the built-in ones may be off by thousands.

float exact_exp(float x) {
  if (isnan(x)) return x;
  if (x > 88.8) return infinity;
  if (x < -104.0) return 0.0;
  const float n = round(x * 1.44269504088896341);
  float r = fma(n, -0.693145751953125, x);
  r = fma(n, -1.428606765330187e-06, r);
  float p = 1.9841270e-4;
  p = fma(p, r, 1.3888889e-3);
  p = fma(p, r, 8.3333333e-3);
  p = fma(p, r, 4.1666667e-2);
  p = fma(p, r, 1.6666667e-1);
  p = fma(p, r, 0.5);
  p = fma(p, r, 1.0);
  p = fma(p, r, 1.0);
  const int half_n = int(n) / 2;  // in two steps, so that subnormal results are exact
  return p * uintBitsToFloat(uint(half_n + 127) << 23) * uintBitsToFloat(uint(int(n) - half_n + 127) << 23);
}

float exact_expm1(float x) {
  if (abs(x) > 0.3) return exact_exp(x) - 1.0;
  float p = 2.4801587e-5;
  p = fma(p, x, 1.9841270e-4);
  p = fma(p, x, 1.3888889e-3);
  p = fma(p, x, 8.3333333e-3);
  p = fma(p, x, 4.1666667e-2);
  p = fma(p, x, 1.6666667e-1);
  p = fma(p, x, 0.5);
  return fma(p * x, x, x);
}

// log(1 + u) for u in [0, 1], as 2·artanh(u / (2 + u)).
float log1p_of(float u) {
  const float s = u / (2.0 + u), q = s * s;
  float p = 1.0 / 13.0;
  p = fma(p, q, 1.0 / 11.0);
  p = fma(p, q, 1.0 / 9.0);
  p = fma(p, q, 1.0 / 7.0);
  p = fma(p, q, 1.0 / 5.0);
  p = fma(p, q, 1.0 / 3.0);
  return 2.0 * fma(s * q, p, s);
}

// tanh(x), where e = exp(2·|x|).
float tanh_of(float x, float e) {
  if (abs(x) > 0.35) return sign(x) * (1.0 - 2.0 / (e + 1.0));
  const float q = x * x;
  float p = -1382.0 / 155925.0;
  p = fma(p, q, 62.0 / 2835.0);
  p = fma(p, q, -17.0 / 315.0);
  p = fma(p, q, 2.0 / 15.0);
  p = fma(p, q, -1.0 / 3.0);
  return isnan(x) ? x : fma(p * q, x, x);
}
float exact_tanh(float x) { return tanh_of(x, exact_exp(2.0 * abs(x))); }

// log((1 − erf(x)) / t) + x² for x ≥ 0 and t = 1 / (1 + x / 2) (Press et al., Numerical Recipes, section 6.2: a relative error of 1.2e-7).
float erfc_exponent(float t) {
  float p = 0.17087277;
  p = fma(p, t, -0.82215223);
  p = fma(p, t, 1.48851587);
  p = fma(p, t, -1.13520398);
  p = fma(p, t, 0.27886807);
  p = fma(p, t, -0.18628806);
  p = fma(p, t, 0.09678418);
  p = fma(p, t, 0.37409196);
  p = fma(p, t, 1.00002368);
  return fma(p, t, -1.26551223);
}

// As core/specs.h's Activation.
const uint NONE = 0, SILU = 1, GELU = 2, GELU_TANH = 3, QUICK_GELU = 4, RELU = 5, SIGMOID = 6, TANH = 7, SOFTPLUS = 8, SQUARED_RELU = 9;

// Each has at most one exponential, which is written once: the code stays short.
float activated(uint activation, float x) {
  if (activation == NONE) return x;
  if (activation == RELU) return x > 0.0 || isnan(x) ? x : 0.0;
  if (activation == SQUARED_RELU) return x > 0.0 || isnan(x) ? x * x : 0.0;
  float inner = x, t = 0, exponent = -x;
  if (activation == QUICK_GELU) exponent = -1.702 * x;
  if (activation == SOFTPLUS) exponent = -abs(x);
  if (activation == GELU) {
    inner = abs(x) * 0.70710678118654752;
    t = 1.0 / fma(0.5, inner, 1.0);
    exponent = fma(-inner, inner, erfc_exponent(t));
  }
  if (activation == GELU_TANH) inner = 0.79788456080286536 * fma(0.044715 * x * x, x, x);
  if (activation == GELU_TANH || activation == TANH) exponent = 2.0 * abs(inner);
  const float e = exact_exp(exponent);
  if (activation == GELU_TANH || activation == TANH) {
    const float hyperbolic = tanh_of(inner, e);
    return activation == TANH ? hyperbolic : 0.5 * x * (1.0 + hyperbolic);
  }
  if (activation == GELU) return x > 0.0 ? x * (1.0 - 0.5 * t * e) : 0.5 * x * t * e;
  if (activation == SOFTPLUS) return max(x, 0.0) + log1p_of(e);
  return (activation == SIGMOID ? 1.0 : x) / (1.0 + e);
}
