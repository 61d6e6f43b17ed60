#include <algorithm>

#include "backends/cpu/cpu_class.h"
#include "backends/cpu/product.h"
#include "backends/cpu/rows.h"
#include "backends/cpu/shares.h"

namespace hearth::cpu {
namespace {

constexpr int64_t chunk = dot_chunk;  // of k
constexpr int64_t most_rows = 512;    // of x for which w is turned once
constexpr int64_t most_panels = 3;    // of w in a piece of work: a chunk of them stays in L2 while x passes by

constexpr int64_t parts(int64_t n, int64_t size) { return (n + size - 1) / size; }

// x in tiles of as even heights as there are: [chunk][tile][k][tile rows], k in runs (kernels.h).
struct TurnedLeft {
  TurnedLeft(int64_t m, int64_t k, const Kernels& kernels)
      : M(m), K(k), lanes(kernels.lanes), height(kernels.tile_rows), tiles(parts(m, height)) {}
  int64_t row(int64_t tile) const { return M * tile / tiles; }
  int64_t rows(int64_t tile) const { return row(tile + 1) - row(tile); }
  int64_t count(int64_t k0) const { return std::min(chunk, K - k0); }
  int64_t steps(int64_t k0) const { return parts(count(k0), lanes); }
  int64_t size() const { return tiles * height * parts(K, lanes) * lanes; }
  float* at(float* base, int64_t tile, int64_t k0) const { return base + (tiles * k0 + tile * steps(k0) * lanes) * height; }

  int64_t M, K, lanes, height, tiles;
};

}  // namespace

void CpuBackend::linear_turned(const Tensor& x, const RowsWeight& w, const Tensor& bias, const Epilogue& e, Tensor& y) {
  const int64_t M = x.size(0) * x.size(1), N = w.rows.size(0), K = w.rows.size(1), panel = kernels_.panel;
  const int64_t row_bytes = int64_t(bytes_of(w.rows.dtype(), K)), chunk_bytes = int64_t(bytes_of(w.rows.dtype(), chunk));
  const TileStore store(kernels_, N, false, bias, e, x.size(1), y);

  const TurnedLeft left(M, K, kernels_);
  const auto memory = memory_->allocate(size_t(left.size()) * sizeof(float));
  auto* const turned = reinterpret_cast<float*>(memory.get());
  pool_.run(left.tiles * parts(K, chunk), [&](int64_t i) {
    const int64_t t = i % left.tiles, k0 = i / left.tiles * chunk;
    kernels_.turn_left(x.data<float>() + left.row(t) * K + k0, K, left.rows(t), left.count(k0), left.at(turned, t, k0));
  });

  const int64_t row_blocks = parts(M, most_rows), right_size = chunk * panel + left.lanes * turned_gap, sum_size = left.height * panel;
  int64_t panels = most_panels;
  while (panels > 1 && parts(N, panels * panel) < 6 * pool_.size()) --panels;
  for_shares(pool_, parts(N, panel), panels, [&](int64_t begin, int64_t end) {
    const auto row_of_w = [&](int64_t n, int64_t k0) { return w.rows.raw() + n * row_bytes + k0 / chunk * chunk_bytes; };
    for (int64_t block = 0; block < row_blocks; ++block) {
      const int64_t tile0 = left.tiles * block / row_blocks, tile1 = left.tiles * (block + 1) / row_blocks;
      float* const right = thread_scratch(size_t(panels * (right_size + (tile1 - tile0) * sum_size)));
      float* sums = right + panels * right_size;  // [tile][panel of w][tile rows][panel]
      for (int64_t k0 = 0; k0 < K; k0 += chunk) {
        for (int64_t p = begin; p < end; ++p)
          kernels_.turn_right(w.type, row_of_w(p * panel, k0), row_bytes, std::min(panel, N - p * panel), left.count(k0),
                              right + (p - begin) * right_size);
        // What will be turned next, a row in each of the last tiles: the next chunk of these rows, or the first of the next ones.
        const bool last = k0 + chunk >= K;
        const int64_t next = (last ? end : begin) * panel, next_rows = std::min((end - begin) * panel, N - next);
        int64_t ahead = std::min<int64_t>(0, next_rows - (tile1 - tile0) * (end - begin));
        float* sum = sums;
        for (int64_t t = tile0; t < tile1; ++t)
          for (int64_t p = begin; p < end; ++p, ++ahead, sum += sum_size) {
            const bool fetch = ahead >= 0 && ahead < next_rows;
            kernels_.turned_tile(left.rows(t), left.at(turned, t, k0), right + (p - begin) * right_size, left.steps(k0), sum, k0 > 0,
                                 fetch ? row_of_w(next + ahead, last ? 0 : k0 + chunk) : nullptr,
                                 fetch ? std::min(chunk_bytes, row_bytes) : 0);
            if (last) store.store(sum, left.row(t), left.rows(t), p);
          }
      }
    }
  });
}

}  // namespace hearth::cpu
