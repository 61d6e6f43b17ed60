#include "backends/reference/reference_class.h"

namespace hearth::reference {

void ReferenceBackend::rope(const Tensor& x, const Tensor& table, RotaryPairs pairs, Tensor& y) {
  const auto [B, T, N, D] = x.dims<4>();
  const int64_t half = table.size(4);
  for (int64_t i = 0; i < B * T * N; ++i) {
    const int64_t b = i / (T * N), t = i / N % T, n = i % N;
    const int64_t from = b * x.stride(0) + t * x.stride(1) + n * x.stride(2), to = i * D;
    const int64_t angles = (((table.size(0) == 1 ? 0 : b) * T + t) * table.size(2) + (table.size(2) == 1 ? 0 : n)) * 2 * half;
    for (int64_t d = 2 * half; d < D; ++d) put(y, to + d, at(x, from + d));
    for (int64_t k = 0; k < half; ++k) {
      const int64_t first = pairs == RotaryPairs::halves ? k : 2 * k, second = pairs == RotaryPairs::halves ? k + half : 2 * k + 1;
      const double cosine = at(table, angles + k), sine = at(table, angles + half + k);
      put(y, to + first, at(x, from + first) * cosine - at(x, from + second) * sine);
      put(y, to + second, at(x, from + second) * cosine + at(x, from + first) * sine);
    }
  }
}

}  // namespace hearth::reference
