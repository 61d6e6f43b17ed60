#include "backends/cpu/rows.h"

#include <cstring>

#include "backends/cpu/cpu_class.h"
#include "backends/cpu/product.h"
#include "core/blocks.h"

namespace hearth::cpu {

void CpuBackend::linear_rows(const Tensor& x, const RowsWeight& w, const Tensor& bias, const Epilogue& e, Tensor& y) {
  const int64_t M = x.size(0) * x.size(1), image_rows = x.size(1), N = w.rows.size(0), K = w.rows.size(1);
  const DType type = w.rows.dtype();
  constexpr int64_t lanes = 16;
  pool_.for_ranges(N, 16, [&](int64_t begin, int64_t end) {
    float* row = thread_scratch(size_t(K));
    for (int64_t n = begin; n < end; ++n) {
      const std::byte* from = w.rows.raw() + bytes_of(type, n * K);
      if (is_blocked(type)) decode_blocks(type, from, K, row);
      else if (type == DType::f32) std::memcpy(row, from, size_t(K) * sizeof(float));
      else widened(kernels_, type, from, K, row);
      for (int64_t m = 0; m < M; ++m) {
        const float* left = x.data<float>() + m * K;
        float part[lanes] = {};
        int64_t k = 0;
        for (; k + lanes <= K; k += lanes)
          for (int64_t i = 0; i < lanes; ++i) part[i] += left[k + i] * row[k + i];
        for (int64_t i = 0; k + i < K; ++i) part[i] += left[k + i] * row[k + i];
        float sum = 0;
        for (const float p : part) sum += p;
        TileEpilogue t{.alpha = e.alpha, .activation = int(e.activation)};
        const float* per_image = e.per_image ? e.per_image.data<float>() + m / image_rows * N + n : nullptr;
        const float* factor = e.gate ? e.gate.data<float>() + m / image_rows * N + n : nullptr;
        if (bias) t.bias = bias.data<float>() + n;
        if (per_image) t.per_image = &per_image;
        if (factor) t.factor = &factor;
        if (e.residual) t.residual = e.residual.data<float>() + m * N + n;
        t.residual_stride = N;
        t.y = y.data<float>() + m * N + n;
        t.y_stride = N;
        alignas(64) float acc[32] = {sum};
        kernels_.epilogue(acc, 1, 1, t);
      }
    }
  });
}

}  // namespace hearth::cpu
