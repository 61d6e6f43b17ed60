#include <algorithm>
#include <array>
#include <cmath>

#include "backends/cpu/cpu_class.h"

namespace hearth::cpu {

// Channels are side by side: each tap of a window is added to all of them, or compared with them, at once.
void CpuBackend::pool(const Tensor& x, const PoolSpec& spec, Tensor& y) {
  const int axes = x.rank() - 2;
  std::array<int64_t, 3> in{1, 1, 1}, out{1, 1, 1};
  std::array<PoolSpec::Axis, 3> windows{};
  for (int i = 0; i < axes; ++i) {
    const auto at = size_t(3 - axes + i);
    in[at] = x.size(1 + i), out[at] = y.size(1 + i), windows[at] = spec.axis(i, axes);
  }
  const int64_t C = x.size(-1), positions = out[0] * out[1] * out[2], taps = windows[0].size * windows[1].size * windows[2].size;
  const size_t size = size_of(x.dtype());
  const bool average = spec.kind == PoolSpec::Kind::average;
  constexpr int64_t part = 1024;
  pool_.for_ranges(y.size(0) * positions, std::max<int64_t>(1, 32768 / (C * taps)), [&](int64_t begin, int64_t end) {
    alignas(64) float wide[part], result[part];
    for (int64_t p = begin; p < end; ++p) {
      const int64_t b = p / positions, place = p % positions;
      const std::array<int64_t, 3> at{place / (out[1] * out[2]), place / out[2] % out[1], place % out[2]};
      std::array<int64_t, 3> origin{}, first{}, last{};  // taps within x
      for (size_t i = 0; i < 3; ++i) {
        origin[i] = at[i] * windows[i].stride - windows[i].before;
        first[i] = std::max<int64_t>(0, -origin[i]), last[i] = std::min(windows[i].size, in[i] - origin[i]);
      }
      for (int64_t c = 0; c < C; c += part) {
        const int64_t n = std::min(part, C - c);
        std::fill_n(result, n, average ? 0.0f : -INFINITY);
        for (int64_t f = first[0]; f < last[0]; ++f)
          for (int64_t h = first[1]; h < last[1]; ++h)
            for (int64_t w = first[2]; w < last[2]; ++w) {
              const int64_t from = ((b * in[0] + origin[0] + f) * in[1] + origin[1] + h) * in[2] + origin[2] + w;
              const float* own = widened(kernels_, x.dtype(), x.raw() + size_t(from * C + c) * size, n, wide);
              if (average) kernels_.add_scaled(own, 1, n, result);
              else kernels_.keep_larger(own, n, result);
            }
        if (average) kernels_.scale(result, 1 / float(taps), n, result);
        narrowed(kernels_, result, n, y.dtype(), y.raw() + size_t(p * C + c) * size);
      }
    }
  });
}

}  // namespace hearth::cpu
