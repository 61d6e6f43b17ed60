#include <algorithm>

#include "backends/cpu/cpu_class.h"

namespace hearth::cpu {

void CpuBackend::rope(const Tensor& x, const Tensor& table, RotaryPairs pairs, Tensor& y) {
  const int64_t T = x.size(0), N = x.size(1), D = x.size(2), half = table.size(2);
  const int64_t step = pairs == RotaryPairs::halves ? 1 : 2, other = pairs == RotaryPairs::halves ? half : 1;
  pool_.for_ranges(T, std::max<int64_t>(1, 8192 / (N * D)), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const float *cosine = table.data<float>() + 2 * t * half, *sine = cosine + half;
      for (int64_t n = 0; n < N; ++n) {
        const float* from = x.data<float>() + t * x.stride(0) + n * x.stride(1);
        float* to = y.data<float>() + (t * N + n) * D;
        for (int64_t i = 0; i < half; ++i) {
          const float a = from[i * step], b = from[i * step + other];
          to[i * step] = a * cosine[i] - b * sine[i];
          to[i * step + other] = b * cosine[i] + a * sine[i];
        }
        std::copy(from + 2 * half, from + D, to + 2 * half);
      }
    }
  });
}

}  // namespace hearth::cpu
