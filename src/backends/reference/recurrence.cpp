#include <algorithm>

#include "backends/reference/reference_class.h"

namespace hearth::reference {
namespace {

double value(const Tensor& x, int64_t row, int64_t column) { return x.data<float>()[row * x.stride(0) + column]; }

}  // namespace

void ReferenceBackend::causal_conv(const Tensor& x, const Tensor& taps, const Tensor& bias, Activation act, Tensor& tail, Tensor& y) {
  const int64_t T = x.size(0), C = x.size(1), K = taps.size(0);
  pool_.run(C, [&](int64_t c) {
    const auto row = [&](int64_t r) { return r < K - 1 ? value(tail, r, c) : value(x, r - K + 1, c); };
    for (int64_t t = 0; t < T; ++t) {
      double sum = bias ? at(bias, c) : 0;
      for (int64_t k = 0; k < K; ++k) sum += value(taps, k, c) * row(t + k);
      put(y, t * C + c, activated(sum, act));
    }
    for (int64_t r = 0; r < K - 1; ++r) put(tail, r * C + c, row(T + r));
  });
}

// The state is rounded to f32 at every token: the result does not depend on how the tokens are divided among calls.
void ReferenceBackend::selective_scan(const Tensor& x, const Tensor& dt, const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d,
                                      Tensor& state, Tensor& y) {
  const int64_t T = x.size(0), C = x.size(1), S = a.size(0);
  pool_.run(C, [&](int64_t i) {
    for (int64_t t = 0; t < T; ++t) {
      double sum = d ? at(d, i) * value(x, t, i) : 0;
      for (int64_t s = 0; s < S; ++s) {
        const int64_t place = s * C + i;
        put(state, place, std::exp(value(dt, t, i) * at(a, place)) * at(state, place) + value(dt, t, i) * value(x, t, i) * value(b, t, s));
        sum += value(c, t, s) * at(state, place);
      }
      put(y, t * C + i, sum);
    }
  });
}

void ReferenceBackend::state_space_scan(const Tensor& x, const Tensor& dt, const Tensor& b, const Tensor& c, const StateSpaceSpec& spec,
                                        Tensor& state, Tensor& y) {
  const int64_t T = x.size(0), N = spec.a.size(0), S = state.size(1), D = state.size(2);
  pool_.run(N, [&](int64_t n) {
    const int64_t g = n / (N / spec.groups);
    for (int64_t t = 0; t < T; ++t) {
      const double raw = activated(value(dt, t, n) + (spec.bias ? at(spec.bias, n) : 0), Activation::softplus);
      const double step = raw < spec.least ? spec.least : raw > spec.most ? spec.most : raw, decay = std::exp(step * at(spec.a, n));
      for (int64_t i = 0; i < D; ++i) {
        const double in = value(x, t, n * D + i);
        double sum = spec.d ? at(spec.d, n) * in : 0;
        for (int64_t s = 0; s < S; ++s) {
          const int64_t place = (n * S + s) * D + i;
          put(state, place, decay * at(state, place) + step * in * value(b, t, g * S + s));
          sum += value(c, t, g * S + s) * at(state, place);
        }
        put(y, (t * N + n) * D + i, sum);
      }
    }
  });
}

}  // namespace hearth::reference
