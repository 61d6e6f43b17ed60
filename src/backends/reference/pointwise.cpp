#include "backends/reference/reference_class.h"

namespace hearth::reference {

void ReferenceBackend::activate(const Tensor& x, Activation act, Tensor& y) {
  for (int64_t i = 0; i < x.numel(); ++i) put(y, i, activated(at(x, i), act));
}

void ReferenceBackend::geglu(const Tensor& x, Tensor& y) {
  const int64_t C = y.size(1);
  for (int64_t i = 0; i < y.numel(); ++i)
    put(y, i, at(x, i / C * 2 * C + i % C) * activated(at(x, i / C * 2 * C + C + i % C), Activation::gelu));
}

void ReferenceBackend::linear_combination(std::span<const Tensor> xs, std::span<const float> factors, Tensor& y) {
  for (int64_t i = 0; i < y.numel(); ++i) {
    double sum = 0;
    for (size_t j = 0; j < xs.size(); ++j) sum += double(factors[j]) * at(xs[j], i);
    put(y, i, sum);
  }
}

}  // namespace hearth::reference
