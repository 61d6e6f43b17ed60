#include <algorithm>

#include "backends/cpu/cpu_class.h"

namespace hearth::cpu {

void CpuBackend::rope(const Tensor& x, const Tensor& table, RotaryPairs pairs, Tensor& y) {
  const auto [B, T, N, D] = x.dims<4>();
  const int64_t half = table.size(4), heads = table.size(2);
  const auto turn = pairs == RotaryPairs::halves ? kernels_.turn_halves : kernels_.turn_neighbors;
  const bool direct = x.dtype() == DType::f32;
  const size_t size = size_of(x.dtype());
  pool_.for_ranges(B * T, std::max<int64_t>(1, 8192 / (N * D)), [&, N = N, D = D, T = T](int64_t begin, int64_t end) {
    float* const wide = direct ? nullptr : thread_scratch(size_t(2 * D));  // a head before and after rotation
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / T, t = i % T;
      const float* const angles = table.data<float>() + ((table.size(0) == 1 ? 0 : b) * T + t) * heads * 2 * half;
      for (int64_t n = 0; n < N; ++n) {
        const float* from =
            widened(kernels_, x.dtype(), x.raw() + size_t(b * x.stride(0) + t * x.stride(1) + n * x.stride(2)) * size, D, wide);
        std::byte* const target = y.raw() + size_t((i * N + n) * D) * size;
        float* to = direct ? reinterpret_cast<float*>(target) : wide + D;
        const float *cosine = angles + (heads == 1 ? 0 : n * 2 * half), *sine = cosine + half;
        turn(from, cosine, sine, half, to);
        std::copy(from + 2 * half, from + D, to + 2 * half);
        if (!direct) narrowed(kernels_, to, D, y.dtype(), target);
      }
    }
  });
}

}  // namespace hearth::cpu
