#include "backends/reference/reference_class.h"

namespace hearth::reference {
namespace {

double element(const Tensor& x, int64_t b, int64_t t, int64_t n, int64_t d) {
  return at(x, b * x.stride(0) + t * x.stride(1) + n * x.stride(2) + d * x.stride(3));
}

}  // namespace

void ReferenceBackend::attention(const Tensor& q, const Tensor& k, const Tensor& v, float scale, Mask mask, DType factors, Tensor& y) {
  const auto factor = [bf16 = factors == DType::bf16](double value) { return bf16 ? bf16_to_f32(f32_to_bf16(float(value))) : value; };
  const int64_t T = q.size(1), S = k.size(1), N = q.size(2), D = q.size(3);
  pool_.run(q.size(0) * T * N, [&](int64_t index) {
    const int64_t b = index / (T * N), t = index / N % T, n = index % N;
    const int64_t keys = mask == Mask::causal ? t + 1 : S;
    std::vector<double> score(size_t(keys), 0.0);
    double highest = -INFINITY, sum = 0;
    for (int64_t s = 0; s < keys; ++s) {
      for (int64_t d = 0; d < D; ++d) score[size_t(s)] += factor(double(scale) * element(q, b, t, n, d)) * factor(element(k, b, s, n, d));
      highest = std::max(highest, score[size_t(s)]);
    }
    for (double& w : score) sum += w = std::exp(w - highest);
    for (int64_t d = 0; d < D; ++d) {
      double acc = 0;
      for (int64_t s = 0; s < keys; ++s) acc += factor(score[size_t(s)]) * factor(element(v, b, s, n, d));
      put(y, index * D + d, acc / sum);
    }
  });
}

}  // namespace hearth::reference
