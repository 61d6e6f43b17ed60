#include <algorithm>

#include "backends/cpu/cpu_class.h"
#include "backends/cpu/kernels/integers.h"
#include "backends/cpu/products/product.h"
#include "backends/cpu/products/rows.h"
#include "backends/cpu/whole_units.h"

namespace hearth::cpu {
namespace {

constexpr int64_t chunk = 256;      // of k: a panel of codes and a tile of x stay in L1
constexpr int64_t most_rows = 256;  // rows of x per piece of work: one chunk of them is in L2
constexpr int64_t most_panels = 4;  // per piece of work

// x as integers, in tiles of rows: q [chunk][tile][k / 2][tile rows][2], d and s [chunk][tile][k / unit][tile rows]
struct IntegerTiles {
  // As few tiles as possible, of the same height.
  IntegerTiles(int64_t m, int64_t k, const IntegerKernels& kernel)
      : K(k), height(parts(parts(m, parts(m, kernel.most_rows)), kernel.rows_step) * kernel.rows_step), tiles(parts(m, height)) {}
  int64_t size() const { return tiles * height * K; }
  int64_t at(int64_t tile, int64_t k0) const { return (tiles * k0 + tile * std::min(chunk, K - k0)) * height; }

  int64_t K, height, tiles;
};

}  // namespace

void CpuBackend::linear_integers(const Tensor& x, const Weight& weight, const Tensor& bias, const Epilogue& e, Tensor& y) {
  const RowsWeight& w = rows_of(weight);
  const IntegerKernels& kernel = *kernels_.integers;
  const int64_t M = x.size(0) * x.size(1), N = w.rows.size(0), K = w.rows.size(1), panel = kernels_.panel, threads = pool_.size();
  const int64_t unit = integer_unit(w.type), row_bytes = int64_t(bytes_of(w.rows.dtype(), K));
  const TileStore store(kernels_, weight, bias, e, x.size(1), y);
  const auto room = [&]<class T>(std::shared_ptr<std::byte>& keep, int64_t count, T*& at) {
    keep = memory_->allocate(size_t(count) * sizeof(T));
    at = reinterpret_cast<T*>(keep.get());
  };
  std::shared_ptr<std::byte> q_room, d_room, s_room;
  const IntegerTiles left(M, K, kernel);
  const int64_t height = left.height;
  int16_t* q;
  float *d, *s;
  room(q_room, left.size(), q), room(d_room, left.size() / unit, d), room(s_room, left.size() / unit, s);
  pool_.run(left.tiles * parts(K, chunk), [&](int64_t i) {
    const int64_t t = i % left.tiles, k0 = i / left.tiles * chunk, at = left.at(t, k0);
    kernel.pack(x.data<float>() + t * height * K + k0, K, std::min(height, M - t * height), height, std::min(chunk, K - k0), unit, q + at,
                d + at / unit, s + at / unit);
  });

  const int64_t row_blocks = parts(left.tiles * height, most_rows);
  int64_t columns = most_panels * panel;
  while (columns > panel && row_blocks * parts(N, columns) < 6 * threads) columns -= panel;
  const int64_t column_blocks = parts(N, columns);
  pool_.run(row_blocks * column_blocks, [&](int64_t piece) {
    const int64_t i = piece % row_blocks, n0 = piece / row_blocks * columns, n1 = std::min(N, n0 + columns), panels = parts(n1 - n0, panel);
    const int64_t tile0 = left.tiles * i / row_blocks, tile1 = left.tiles * (i + 1) / row_blocks, tiles = tile1 - tile0;
    float* const step = thread_scratch(size_t(panel * (2 * chunk / unit + chunk / 2) + panels * tiles * height * panel));
    float* const least = step + chunk / unit * panel;
    auto* const codes = reinterpret_cast<int16_t*>(least + chunk / unit * panel);
    float* const sums = least + (chunk / unit + chunk / 2) * panel;  // [panels][tiles][height][panel]
    std::fill_n(sums, panels * tiles * height * panel, 0.0f);

    for (int64_t k0 = 0; k0 < K; k0 += chunk) {
      const int64_t count = std::min(chunk, K - k0), chunk_bytes = int64_t(bytes_of(w.rows.dtype(), chunk));
      const std::byte* const column = w.rows.raw() + k0 / chunk * chunk_bytes;
      for (int64_t j = 0; j < panels; ++j) {
        const int64_t first = n0 + j * panel;
        kernel.widen(w.type, column + first * row_bytes, row_bytes, std::min(panel, n1 - first), count, codes, step, least);
        // Prefetches what is widened next: this chunk of the next panel, or the next chunk of the first panel.
        const bool same = j + 1 < panels;
        const int64_t next = same ? first + panel : n0, next_k = same ? k0 : k0 + chunk, ahead = std::min(panel, N - next);
        const int64_t next_bytes = std::min(chunk_bytes, row_bytes - next_k / chunk * chunk_bytes);
        const std::byte* const later = w.rows.raw() + next * row_bytes + next_k / chunk * chunk_bytes;
        for (int64_t t = 0; t < tiles; ++t) {
          for (int64_t c = ahead * t / tiles; c < ahead * (t + 1) / tiles; ++c)
            for (int64_t line = 0; line < next_bytes; line += 64) __builtin_prefetch(later + c * row_bytes + line, 0, 2);
          const int64_t at = left.at(tile0 + t, k0);
          kernel.tile(w.type, height, q + at, d + at / unit, s + at / unit, codes, step, least, count / unit,
                      sums + (j * tiles + t) * height * panel);
        }
      }
    }
    for (int64_t t = 0; t < tiles; ++t)
      for (int64_t j = 0; j < panels; ++j) {
        const int64_t row = (tile0 + t) * height;
        store.store(sums + (j * tiles + t) * height * panel, row, std::min(height, M - row), n0 / panel + j);
      }
  });
}

}  // namespace hearth::cpu
