#include "backends/reference/reference_class.h"

namespace hearth::reference {

// Sums in f64. The state is rounded to f32 after each token, so that the division of a text into calls does not matter.
void ReferenceBackend::delta_rule(const DeltaRule& rule, Tensor& state, Tensor& y) {
  const int64_t T = rule.q.size(0), G = rule.q.size(1), Dk = rule.q.size(2), H = rule.v.size(1), Dv = rule.v.size(2);
  const bool each = rule.decay.rank() == 3;
  pool_.run(H * Dv, [&](int64_t i) {
    const int64_t h = i / Dv, g = h / (H / G), column = i % Dv;
    float* const s = state.data<float>() + h * Dk * Dv + column;  // of key j: s[j · Dv]
    for (int64_t t = 0; t < T; ++t) {
      const int64_t own = (t * H + h) * Dk, shared = (t * G + g) * Dk;
      const auto decay = [&](int64_t j) {
        const double stated = each ? at(rule.decay, own + j) : at(rule.decay, t * H + h);
        return std::exp(rule.by_rate ? -std::exp(stated) : stated);
      };
      double v = at(rule.v, (t * H + h) * Dv + column), seen = 0, result = 0;
      for (int64_t j = 0; j < Dk; ++j) {
        if (rule.a) seen += s[j * Dv] * at(rule.a, own + j);
        if (rule.beta) seen += decay(j) * s[j * Dv] * at(rule.k, shared + j);
      }
      if (rule.beta) v = at(rule.beta, t * H + h) * (v - seen);
      for (int64_t j = 0; j < Dk; ++j) {
        const double old = s[j * Dv];
        double now = decay(j) * old + at(rule.k, shared + j) * v;
        if (rule.b) now += at(rule.b, own + j) * seen;
        s[j * Dv] = float(now);
        result += at(rule.q, shared + j) * (rule.reads_before ? old : double(s[j * Dv]));
      }
      put(y, (t * H + h) * Dv + column, result);
    }
  });
}

void ReferenceBackend::add_weighted(const Tensor& base, const Tensor& q, const Tensor& k, const Tensor& u, const Tensor& v, Tensor& y) {
  const int64_t H = q.size(1), Dk = q.size(2), Dv = v.size(2);
  for (int64_t r = 0; r < q.size(0) * H; ++r) {
    double weight = 0;
    for (int64_t j = 0; j < Dk; ++j) weight += at(q, r * Dk + j) * at(k, r * Dk + j) * at(u, r % H * Dk + j);
    for (int64_t c = 0; c < Dv; ++c) put(y, r * Dv + c, at(base, r * Dv + c) + weight * at(v, r * Dv + c));
  }
}

void ReferenceBackend::gated_scan(const Tensor& x, const Tensor& log_a, bool starts, Tensor& state, Tensor& y) {
  const int64_t T = x.size(0), C = x.size(1);
  for (int64_t c = 0; c < C; ++c)
    for (int64_t t = 0; t < T; ++t) {
      const double g = at(log_a, t * C + c), factor = starts && t == 0 ? 1 : std::sqrt(-std::expm1(2 * g));
      put(state, c, std::exp(g) * at(state, c) + factor * at(x, t * C + c));
      put(y, t * C + c, at(state, c));
    }
}

}  // namespace hearth::reference
