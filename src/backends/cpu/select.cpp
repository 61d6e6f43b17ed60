#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cpu/cpu_class.h"
#include "core/row_number.h"

namespace hearth::cpu {

namespace {

struct Entry {
  float value;
  int32_t column;
};

// Order of two of the largest values: NaN before any number; among equal values the first column.
bool comes_first(const Entry& a, const Entry& b) {
  if (std::isnan(a.value) || std::isnan(b.value)) return std::isnan(a.value) && (!std::isnan(b.value) || a.column < b.column);
  return a.value > b.value || (a.value == b.value && a.column < b.column);
}

}  // namespace

// The best values so far form a heap with the last of them on top: most values of a row are compared only with it.
void CpuBackend::top_k(const Tensor& x, Tensor& values, Tensor& columns) {
  const int64_t C = x.size(1), k = values.size(1);
  const size_t size = size_of(x.dtype());
  constexpr int64_t part = 2048;
  pool_.for_ranges(x.size(0), std::max<int64_t>(1, 4096 / C), [&](int64_t begin, int64_t end) {
    alignas(64) float wide[part];
    auto* const best = reinterpret_cast<Entry*>(thread_scratch(size_t(2 * k)));
    for (int64_t r = begin; r < end; ++r) {
      const std::byte* const row = x.raw() + size_t(r * C) * size;
      int64_t count = 0;
      for (int64_t c0 = 0; c0 < C; c0 += part) {
        const int64_t n = std::min(part, C - c0);
        const float* own = widened(kernels_, x.dtype(), row + size_t(c0) * size, n, wide);
        for (int64_t i = 0; i < n; ++i) {
          const Entry entry{own[i], int32_t(c0 + i)};
          if (count < k) {
            best[count++] = entry;
            if (count == k) std::make_heap(best, best + k, comes_first);
          } else if (!(entry.value <= best[0].value) && comes_first(entry, best[0])) {
            std::pop_heap(best, best + k, comes_first);
            best[k - 1] = entry;
            std::push_heap(best, best + k, comes_first);
          }
        }
      }
      std::sort_heap(best, best + k, comes_first);
      for (int64_t i = 0; i < k; ++i) {
        std::memcpy(values.raw() + size_t(r * k + i) * size, row + size_t(best[i].column) * size, size);
        columns.data<int32_t>()[r * k + i] = best[i].column;
      }
    }
  });
}

void CpuBackend::gather(const Tensor& x, const Tensor& rows, Tensor& y) {
  const size_t bytes = bytes_of(x.dtype(), x.size(1));
  pool_.for_ranges(rows.numel(), std::max<int64_t>(1, 65536 / int64_t(bytes)), [&](int64_t begin, int64_t end) {
    for (int64_t m = begin; m < end; ++m)
      std::memcpy(y.raw() + size_t(m) * bytes, x.raw() + size_t(row_number("gather", rows, m, x.size(0))) * bytes, bytes);
  });
}

// Each piece has some columns of all rows, so that the rows of x are added in order.
void CpuBackend::scatter_add(const Tensor& x, const Tensor& rows, const Tensor& factors, Tensor& y) {
  const int64_t C = x.size(1);
  constexpr int64_t columns = 128;
  const size_t size = size_of(x.dtype());
  pool_.run((C + columns - 1) / columns, [&](int64_t piece) {
    alignas(64) float wide[columns];
    const int64_t c = piece * columns, n = std::min(columns, C - c);
    for (int64_t m = 0; m < rows.numel(); ++m) {
      float* const to = y.data<float>() + row_number("scatter_add", rows, m, y.size(0)) * C + c;
      const float* from = widened(kernels_, x.dtype(), x.raw() + size_t(m * C + c) * size, n, wide);
      kernels_.add_scaled(from, factors ? factors.data<float>()[m] : 1, n, to);
    }
  });
}

}  // namespace hearth::cpu
