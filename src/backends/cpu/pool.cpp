#include <algorithm>
#include <cmath>

#include "backends/cpu/cpu_class.h"
#include "core/axes.h"

namespace hearth::cpu {

// Channels are adjacent: each tap of a window is added to all of them, or compared with them, at once.
void CpuBackend::pool(const Tensor& x, const PoolSpec& spec, Tensor& y) {
  const PoolAxes axes(x, spec, y);
  const int64_t C = x.size(-1), positions = count_of(axes.out), taps = count_of(axes.taps);
  const size_t size = size_of(x.dtype());
  const bool average = spec.kind == PoolSpec::Kind::average;
  constexpr int64_t part = 1024;
  pool_.for_ranges(y.size(0) * positions, std::max<int64_t>(1, 32768 / (C * taps)), [&](int64_t begin, int64_t end) {
    alignas(64) float wide[part], result[part];
    for (int64_t p = begin; p < end; ++p) {
      const int64_t b = p / positions;
      const Position at = position_of(p % positions, axes.out);
      Position origin{}, first{}, last{};  // taps within x
      for (size_t i = 0; i < 3; ++i) {
        origin[i] = at[i] * axes.window[i].stride - axes.window[i].before;
        first[i] = std::max<int64_t>(0, -origin[i]), last[i] = std::min(axes.taps[i], axes.in[i] - origin[i]);
      }
      for (int64_t c = 0; c < C; c += part) {
        const int64_t n = std::min(part, C - c);
        std::fill_n(result, n, average ? 0.0f : -INFINITY);
        for (int64_t f = first[0]; f < last[0]; ++f)
          for (int64_t h = first[1]; h < last[1]; ++h)
            for (int64_t w = first[2]; w < last[2]; ++w) {
              const int64_t from = b * count_of(axes.in) + index_of({origin[0] + f, origin[1] + h, origin[2] + w}, axes.in);
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
