#include "backends/reference/reference_class.h"

namespace hearth::reference {

void ReferenceBackend::activate(const Tensor& x, Activation act, Tensor& y) {
  for (int64_t i = 0; i < x.numel(); ++i) put(y, i, activated(at(x, i), act));
}

void ReferenceBackend::linear_combination(std::span<const Tensor> xs, std::span<const float> factors, Tensor& y) {
  for (int64_t i = 0; i < y.numel(); ++i) {
    double sum = 0;
    for (size_t j = 0; j < xs.size(); ++j) sum += double(factors[j]) * at(xs[j], i);
    put(y, i, sum);
  }
}

void ReferenceBackend::multiply(const Tensor& a, const Tensor& b, Tensor& y) {
  for (int64_t i = 0; i < y.numel(); ++i) put(y, i, at(a, i) * at(b, i));
}

void ReferenceBackend::affine(const Tensor& x, const Tensor& scale, const Tensor& shift, Tensor& y) {
  const int64_t B = x.size(0), M = x.size(1), C = x.size(2);
  for (int64_t r = 0; r < B * M; ++r) {
    const auto of = [&](const Tensor& t, int64_t c) { return at(t, (t.size(0) == 1 ? 0 : t.size(0) == B ? r / M : r) * t.stride(0) + c); };
    for (int64_t c = 0; c < C; ++c) {
      double value = at(x, r * C + c);
      if (scale) value *= of(scale, c);
      if (shift) value += of(shift, c);
      put(y, r * C + c, value);
    }
  }
}

}  // namespace hearth::reference
