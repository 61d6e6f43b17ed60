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

}  // namespace hearth::reference
