#include <algorithm>

#include "backends/cpu/cpu_class.h"

namespace hearth::cpu {

// A piece of work is some columns of a head's values, for all tokens: its sums over the keys stay in L1.
void CpuBackend::linear_attention(const Tensor& q, const Tensor& k, const Tensor& v, float eps, Tensor& y) {
  const auto [B, T, N, D] = q.dims<4>();
  const int64_t S = k.size(1), Dv = v.size(3), width = 4 * kernels_.lanes, parts = (Dv + width - 1) / width;
  pool_.run(B * N * parts, [&, T = T, N = N, D = D](int64_t piece) {
    const int64_t b = piece / (N * parts), n = piece / parts % N, column = piece % parts * width;
    kernels_.linear_attention({.queries = T,
                               .tokens = S,
                               .keys = D,
                               .columns = std::min(width, Dv - column),
                               .q = q.data<float>() + (b * T * N + n) * D,
                               .q_stride = N * D,
                               .k = k.data<float>() + (b * S * N + n) * D,
                               .k_stride = N * D,
                               .v = v.data<float>() + (b * S * N + n) * Dv + column,
                               .v_stride = N * Dv,
                               .eps = eps,
                               .y = y.data<float>() + (b * T * N + n) * Dv + column,
                               .y_stride = N * Dv,
                               .scratch = thread_scratch(size_t(2 * D * (width + 1)))});
  });
}

}  // namespace hearth::cpu
