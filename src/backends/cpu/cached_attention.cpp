#include <algorithm>
#include <cmath>

#include "backends/cpu/cpu_class.h"
#include "backends/cpu/product.h"
#include "core/blocks.h"

namespace hearth::cpu {

// One piece: one query and one group of heads. Keys in the order of their positions.
void CpuBackend::cached_attention(const Tensor& q, const KeyValues& cache, float scale, Tensor& y) {
  const int64_t T = q.size(0), N = q.size(1), D = q.size(2), C = cache.k.size(0), G = cache.k.size(1), heads = N / G;
  const DType type = cache.k.dtype();
  pool_.run(T * G, [&](int64_t piece) {
    const int64_t t = piece / G, g = piece % G, position = cache.first + t;
    const int64_t from = cache.window ? std::max<int64_t>(0, position - cache.window + 1) : 0, keys = position + 1 - from;
    float* scores = thread_scratch(size_t(keys + D));
    float* row = scores + keys;
    const auto fetch = [&](const Tensor& rows, int64_t p) {
      const std::byte* at = rows.raw() + bytes_of(type, (p % C * G + g) * D);
      if (is_blocked(type)) decode_blocks(type, at, D, row);
      else if (type == DType::f32) std::copy_n(reinterpret_cast<const float*>(at), D, row);
      else widened(kernels_, type, at, D, row);
    };
    for (int64_t h = 0; h < heads; ++h) {
      const float* query = q.data<float>() + (t * N + g * heads + h) * D;
      float* out = y.data<float>() + (t * N + g * heads + h) * D;
      float highest = -INFINITY, sum = 0;
      for (int64_t i = 0; i < keys; ++i) {
        fetch(cache.k, from + i);
        float s = 0;
        for (int64_t d = 0; d < D; ++d) s += query[d] * row[d];
        highest = std::max(highest, scores[i] = s * scale);
      }
      for (int64_t i = 0; i < keys; ++i) sum += scores[i] = std::exp(scores[i] - highest);
      std::fill_n(out, D, 0.0f);
      for (int64_t i = 0; i < keys; ++i) {
        fetch(cache.v, from + i);
        for (int64_t d = 0; d < D; ++d) out[d] += scores[i] / sum * row[d];
      }
    }
  });
}

}  // namespace hearth::cpu
