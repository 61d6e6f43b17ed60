#include "backends/reference/reference_class.h"

namespace hearth::reference {

// Query by query, over all keys: the order of the definition, in f64.
void ReferenceBackend::linear_attention(const Tensor& q, const Tensor& k, const Tensor& v, float eps, Tensor& y) {
  const auto [B, T, N, D] = q.dims<4>();
  const int64_t S = k.size(1), Dv = v.size(3);
  pool_.run(B * T * N, [&, T = T, N = N, D = D](int64_t row) {
    const int64_t b = row / (T * N), n = row % N;
    std::vector<double> sum(static_cast<size_t>(Dv));
    double weights = 0;
    for (int64_t s = 0; s < S; ++s) {
      const int64_t key = (b * S + s) * N + n;
      double weight = 0;
      for (int64_t d = 0; d < D; ++d) weight += at(q, row * D + d) * at(k, key * D + d);
      for (int64_t c = 0; c < Dv; ++c) sum[size_t(c)] += weight * at(v, key * Dv + c);
      weights += weight;
    }
    for (int64_t c = 0; c < Dv; ++c) put(y, row * Dv + c, sum[size_t(c)] / (weights + eps));
  });
}

}  // namespace hearth::reference
