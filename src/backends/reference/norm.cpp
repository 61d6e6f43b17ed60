#include "backends/reference/reference_class.h"

namespace hearth::reference {
namespace {

// Mean and biased variance of f(0 … n-1), in two passes.
template <class F> std::pair<double, double> moments(int64_t n, F f) {
  double mean = 0, variance = 0;
  for (int64_t i = 0; i < n; ++i) mean += f(i);
  mean /= double(n);
  for (int64_t i = 0; i < n; ++i) variance += (f(i) - mean) * (f(i) - mean);
  return {mean, variance / double(n)};
}

}  // namespace

void ReferenceBackend::group_norm(const Tensor& x, int64_t groups, const Tensor& gamma, const Tensor& beta, float eps, Activation act,
                                  Tensor& y) {
  const int64_t P = x.size(1), C = x.size(2), width = C / groups;
  pool_.run(x.size(0) * groups, [&](int64_t index) {
    const int64_t b = index / groups, first = index % groups * width;
    const auto position = [&](int64_t i) { return (b * P + i / width) * C + first + i % width; };
    const auto [mean, variance] = moments(P * width, [&](int64_t i) { return at(x, position(i)); });
    for (int64_t i = 0; i < P * width; ++i) {
      const int64_t c = first + i % width;
      put(y, position(i), activated((at(x, position(i)) - mean) / std::sqrt(variance + double(eps)) * at(gamma, c) + at(beta, c), act));
    }
  });
}

Tensor ReferenceBackend::normalized(const Tensor& x, const InputNorm& norm) {
  const Shape flat{x.size(0), x.numel() / (x.size(0) * x.size(-1)), x.size(-1)};
  Tensor y = Tensor::empty(*this, flat, DType::f32);
  group_norm(x.view(flat), norm.groups, norm.gamma, norm.beta, norm.eps, norm.activation, y);
  return y.view(x.shape());
}

void ReferenceBackend::layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, float eps, Tensor& y) {
  const int64_t C = x.size(1);
  pool_.run(x.size(0), [&](int64_t r) {
    const auto [mean, variance] = moments(C, [&](int64_t c) { return at(x, r * C + c); });
    for (int64_t c = 0; c < C; ++c)
      put(y, r * C + c, (at(x, r * C + c) - mean) / std::sqrt(variance + double(eps)) * at(gamma, c) + at(beta, c));
  });
}

void ReferenceBackend::rms_norm(const Tensor& x, const Tensor& gamma, float eps, Tensor& y) {
  const int64_t C = x.size(1);
  pool_.run(x.size(0), [&](int64_t r) {
    double squares = 0;
    for (int64_t c = 0; c < C; ++c) squares += at(x, r * C + c) * at(x, r * C + c);
    const double root = std::sqrt(squares / double(C) + double(eps));
    for (int64_t c = 0; c < C; ++c) put(y, r * C + c, at(x, r * C + c) / root * (gamma ? at(gamma, c) : 1));
  });
}

}  // namespace hearth::reference
