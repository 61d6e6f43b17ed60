#include <algorithm>

#include "backends/cpu/cpu_class.h"

namespace hearth::cpu {

void CpuBackend::rope(const Tensor& x, const Tensor& table, RotaryPairs pairs, Tensor& y) {
  const int64_t T = x.size(0), N = x.size(1), D = x.size(2), half = table.size(2);
  const auto turn = pairs == RotaryPairs::halves ? kernels_.turn_halves : kernels_.turn_neighbours;
  pool_.for_ranges(T, std::max<int64_t>(1, 8192 / (N * D)), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const float *cosine = table.data<float>() + 2 * t * half, *sine = cosine + half;
      for (int64_t n = 0; n < N; ++n) {
        const float* from = x.data<float>() + t * x.stride(0) + n * x.stride(1);
        float* to = y.data<float>() + (t * N + n) * D;
        turn(from, cosine, sine, half, to);
        std::copy(from + 2 * half, from + D, to + 2 * half);
      }
    }
  });
}

}  // namespace hearth::cpu
