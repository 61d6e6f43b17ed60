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

void ReferenceBackend::cached_attention(const Tensor& q, const KeyValues& cache, float scale, Tensor& y) {
  const int64_t T = q.size(0), N = q.size(1), D = q.size(2), C = cache.k.size(0), G = cache.k.size(1);
  const std::vector<float> keys = cache.k.to_vector(), values = cache.v.to_vector();
  pool_.run(T * N, [&](int64_t index) {
    const int64_t t = index / N, n = index % N, position = cache.first + t;
    const int64_t from = cache.window ? std::max<int64_t>(0, position - cache.window + 1) : 0;
    const auto row = [&](int64_t p) { return (p % C * G + n / (N / G)) * D; };
    std::vector<double> score;
    double highest = -INFINITY, sum = 0;
    for (int64_t p = from; p <= position; ++p) {
      double s = 0;
      for (int64_t d = 0; d < D; ++d) s += double(scale) * at(q, index * D + d) * keys[size_t(row(p) + d)];
      score.push_back(s);
      highest = std::max(highest, s);
    }
    for (double& w : score) sum += w = std::exp(w - highest);
    for (int64_t d = 0; d < D; ++d) {
      double acc = 0;
      for (int64_t p = from; p <= position; ++p) acc += score[size_t(p - from)] * values[size_t(row(p) + d)];
      put(y, index * D + d, acc / sum);
    }
  });
}

}  // namespace hearth::reference
