#include <algorithm>

#include "backends/cpu/cpu_class.h"

namespace hearth::cpu {

void CpuBackend::rope(const Tensor& x, const Tensor& table, RotaryPairs pairs, Tensor& y) {
  if (x.dtype() != DType::f32) fail<UnsupportedError>("rope: the backend cpu turns f32 only, not {}", name_of(x.dtype()));
  const auto [B, T, N, D] = x.dims<4>();
  const int64_t half = table.size(4), heads = table.size(2);
  const auto turn = pairs == RotaryPairs::halves ? kernels_.turn_halves : kernels_.turn_neighbours;
  pool_.for_ranges(B * T, std::max<int64_t>(1, 8192 / (N * D)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / T, t = i % T;
      const float* const angles = table.data<float>() + ((table.size(0) == 1 ? 0 : b) * T + t) * heads * 2 * half;
      for (int64_t n = 0; n < N; ++n) {
        const float* from = x.data<float>() + b * x.stride(0) + t * x.stride(1) + n * x.stride(2);
        float* to = y.data<float>() + (i * N + n) * D;
        const float *cosine = angles + (heads == 1 ? 0 : n * 2 * half), *sine = cosine + half;
        turn(from, cosine, sine, half, to);
        std::copy(from + 2 * half, from + D, to + 2 * half);
      }
    }
  });
}

}  // namespace hearth::cpu
