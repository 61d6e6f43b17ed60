#include "backends/reference/reference_class.h"

namespace hearth::reference {

void ReferenceBackend::rope(const Tensor& x, const Tensor& table, RotaryPairs pairs, Tensor& y) {
  const int64_t T = x.size(0), N = x.size(1), D = x.size(2), half = table.size(2);
  for (int64_t t = 0; t < T; ++t)
    for (int64_t n = 0; n < N; ++n) {
      const int64_t from = t * x.stride(0) + n * x.stride(1), to = (t * N + n) * D;
      for (int64_t d = 2 * half; d < D; ++d) put(y, to + d, at(x, from + d));
      for (int64_t i = 0; i < half; ++i) {
        const int64_t a = pairs == RotaryPairs::halves ? i : 2 * i, b = pairs == RotaryPairs::halves ? i + half : 2 * i + 1;
        const double cosine = at(table, 2 * t * half + i), sine = at(table, (2 * t + 1) * half + i);
        put(y, to + a, at(x, from + a) * cosine - at(x, from + b) * sine);
        put(y, to + b, at(x, from + b) * cosine + at(x, from + a) * sine);
      }
    }
}

}  // namespace hearth::reference
