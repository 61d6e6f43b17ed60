#include <algorithm>

#include "backends/cpu/cpu_class.h"
#include "backends/cpu/products/product.h"
#include "backends/cpu/products/rows.h"
#include "backends/cpu/shares.h"
#include "backends/cpu/whole_units.h"

namespace hearth::cpu {
namespace {

constexpr int64_t chunk = dot_chunk;    // of k
constexpr int64_t most_rows = 512;      // rows of x per transposition of w
constexpr int64_t most_of_x = 4 << 20;  // bytes of x that each panel of w is multiplied with: they stay in L3

// Rows of x in tiles of heights as equal as possible: [chunk][tile][k][tile rows], k in runs (kernels.h).
struct TurnedLeft {
  TurnedLeft(int64_t m, int64_t k, const Kernels& kernels)
      : M(m), K(k), lanes(kernels.lanes), height(kernels.tile_rows), tiles(parts(m, height)) {}
  int64_t row(int64_t tile) const { return M * tile / tiles; }
  int64_t rows(int64_t tile) const { return row(tile + 1) - row(tile); }
  int64_t count(int64_t k0) const { return std::min(chunk, K - k0); }
  int64_t steps(int64_t k0) const { return parts(count(k0), lanes); }
  int64_t size(int64_t k) const { return tiles * height * parts(k, lanes) * lanes; }
  // Address of the values from k0 on, if `base` holds those from `first` on.
  float* at(float* base, int64_t tile, int64_t k0, int64_t first) const {
    return base + (tiles * (k0 - first) + tile * steps(k0) * lanes) * height;
  }

  int64_t M, K, lanes, height, tiles;
};

}  // namespace

void CpuBackend::linear_turned(const Tensor& x, const Weight& weight, const Tensor& bias, const Epilogue& e, Tensor& y) {
  const RowsWeight& w = rows_of(weight);
  const int64_t M = x.size(0) * x.size(1), N = w.rows.size(0), K = w.rows.size(1), panel = kernels_.panel;
  const int64_t row_bytes = int64_t(bytes_of(w.rows.dtype(), K)), chunk_bytes = int64_t(bytes_of(w.rows.dtype(), chunk));
  const TileStore store(kernels_, weight, bias, e, x.size(1), y);
  const int64_t right_size = chunk * panel + kernels_.lanes * turned_gap, sum_size = kernels_.tile_rows * panel;

  const int64_t row_blocks = parts(M, most_rows), most = parts(M, row_blocks);
  const TurnedLeft largest(most, K, kernels_);
  const int64_t depth = std::min(K, std::max(chunk, most_of_x / int64_t(sizeof(float)) / most / chunk * chunk));  // values of k at a time
  const auto memory = memory_->allocate(size_t(largest.size(depth)) * sizeof(float));
  auto* const turned = reinterpret_cast<float*>(memory.get());
  // Sums are kept here between depths: [panel of w][tile][tile rows][panel]
  const auto kept = depth < K ? memory_->allocate(size_t(parts(N, panel) * largest.tiles * sum_size) * sizeof(float)) : nullptr;

  const auto row_of_w = [&](int64_t n, int64_t k0) { return w.rows.raw() + n * row_bytes + k0 / chunk * chunk_bytes; };
  for (int64_t block = 0; block < row_blocks; ++block) {
    const int64_t row0 = M * block / row_blocks;
    const TurnedLeft left(M * (block + 1) / row_blocks - row0, K, kernels_);
    for (int64_t first = 0; first < K; first += depth) {
      const int64_t end_of_k = std::min(K, first + depth);
      const auto left_of = [&](int64_t t, int64_t k0) { return left.at(turned, t, k0, first); };
      pool_.run(left.tiles * parts(end_of_k - first, chunk), [&](int64_t i) {
        const int64_t t = i % left.tiles, k0 = first + i / left.tiles * chunk;
        kernels_.turn_left(x.data<float>() + (row0 + left.row(t)) * K + k0, K, left.rows(t), left.count(k0), left_of(t, k0));
      });
      // A chunk of a panel of w stays in L2 while x is multiplied.
      for_shares(pool_, parts(N, panel), 1, [&](int64_t p, int64_t) {
        float* const right = thread_scratch(size_t(right_size + left.tiles * sum_size));
        float* const sums = kept ? reinterpret_cast<float*>(kept.get()) + p * left.tiles * sum_size : right + right_size;
        for (int64_t k0 = first; k0 < end_of_k; k0 += chunk) {
          kernels_.turn_right(w.type, row_of_w(p * panel, k0), row_bytes, std::min(panel, N - p * panel), left.count(k0), right);
          // Prefetches what is transposed next, a row in each of the last tiles: the next chunk of these rows, or the first of the next
          // rows.
          const bool last = k0 + chunk >= end_of_k;
          const int64_t next = (last ? p + 1 : p) * panel, next_rows = std::min(panel, N - next);
          int64_t ahead = std::min<int64_t>(0, next_rows - left.tiles);
          for (int64_t t = 0; t < left.tiles; ++t, ++ahead) {
            const bool fetch = ahead >= 0 && ahead < next_rows;
            float* const sum = sums + t * sum_size;
            kernels_.turned_tile(left.rows(t), left_of(t, k0), right, left.steps(k0), sum, k0 > 0,
                                 fetch ? row_of_w(next + ahead, last ? first : k0 + chunk) : nullptr,
                                 fetch ? std::min(chunk_bytes, row_bytes) : 0);
            if (k0 + chunk >= K) store.store(sum, row0 + left.row(t), left.rows(t), p);
          }
        }
      });
    }
  }
}

}  // namespace hearth::cpu
