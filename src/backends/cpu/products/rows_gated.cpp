#include <algorithm>

#include "backends/cpu/cpu_class.h"
#include "backends/cpu/products/product.h"
#include "backends/cpu/products/rows.h"
#include "backends/cpu/whole_units.h"

// A gated linear unit whose weight is held in place: the sums of values and gates of some rows of x as one product, then the epilogue that
// combines them. Its result is that of packed weights, whose tiles hold a register of values next to one of their gates.
namespace hearth::cpu {
namespace {

constexpr int64_t most_rows = 512;  // of x at a time; at least half as many, so that all strips take the same route

}  // namespace

void CpuBackend::linear_gated(const Tensor& x, const Weight& w, const Tensor& bias, const Epilogue& e, Tensor& y) {
  const int64_t rows = x.size(0) * x.size(1), K = x.size(2), N = w.outputs(), panel = kernels_.panel, lanes = panel / 2;
  const TileStore store(kernels_, w, bias, e, x.size(1), y);
  Weight all = w;
  all.kind = WeightKind::linear;
  all.scale = {};
  const Tensor flat = x.view({1, rows, K});
  const int64_t strips = parts(rows, most_rows), tile_rows = kernels_.tile_rows;
  Tensor sums = Tensor::empty(*this, {1, parts(rows, strips), 2 * N});
  for (int64_t strip = 0; strip < strips; ++strip) {
    const int64_t row0 = rows * strip / strips, own = rows * (strip + 1) / strips - row0;
    Tensor part = sums.slice(1, 0, own);
    linear(flat.slice(1, row0, row0 + own), all, {}, {}, {}, part);
    pool_.run(parts(own, tile_rows), [&](int64_t tile) {
      const int64_t first = tile * tile_rows, count = std::min(tile_rows, own - first);
      alignas(64) std::array<float, most_stored> acc{};
      for (int64_t p = 0; p < parts(N, lanes); ++p) {
        const int64_t columns = std::min(lanes, N - p * lanes);
        store.fetch(row0 + first, count, p);
        for (int64_t r = 0; r < count; ++r) {
          const float* const from = part.data<float>() + (first + r) * 2 * N + p * lanes;
          std::copy_n(from, columns, acc.data() + r * panel);
          std::copy_n(from + N, columns, acc.data() + r * panel + lanes);
        }
        store.store(acc.data(), row0 + first, count, p);
      }
    });
  }
}

}  // namespace hearth::cpu
