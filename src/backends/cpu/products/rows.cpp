#include "backends/cpu/products/rows.h"

#include <algorithm>

#include "backends/cpu/cpu_class.h"
#include "backends/cpu/products/product.h"
#include "backends/cpu/whole_units.h"

namespace hearth::cpu {
namespace {

constexpr int64_t chunk = dot_chunk;  // of k
constexpr int64_t piece = 512;        // of a chunk: a few rows of w and a tile of x stay in L1 together
constexpr int64_t most_width = 8;     // dot_columns, rounded up

// x in tiles of rows: [piece][tile][k / lanes][tile rows][lanes]
struct LeftTiles {
  LeftTiles(int64_t m, int64_t k, const Kernels& kernels) : K(k), lanes(kernels.lanes), height(kernels.dot_rows), tiles(parts(m, height)) {}
  int64_t steps(int64_t k0) const { return parts(std::min(piece, K - k0), lanes); }
  int64_t size() const { return tiles * height * parts(K, lanes) * lanes; }
  float* at(float* base, int64_t tile, int64_t k0) const { return base + (tiles * k0 + tile * steps(k0) * lanes) * height; }

  int64_t K, lanes, height, tiles;
};

}  // namespace

std::optional<RowType> row_type(DType dtype) {
  switch (dtype) {
    case DType::f32: return row_f32;
    case DType::f16: return row_f16;
    case DType::bf16: return row_bf16;
    case DType::f8_e4m3: return row_f8_e4m3;
    case DType::f8_e5m2: return row_f8_e5m2;
    case DType::q4_0: return row_q4_0;
    case DType::q4_1: return row_q4_1;
    case DType::q5_0: return row_q5_0;
    case DType::q5_1: return row_q5_1;
    case DType::q8_0: return row_q8_0;
    case DType::q2_k: return row_q2_k;
    case DType::q3_k: return row_q3_k;
    case DType::q4_k: return row_q4_k;
    case DType::q5_k: return row_q5_k;
    case DType::q6_k: return row_q6_k;
    case DType::iq4_nl: return row_iq4_nl;
    case DType::iq4_xs: return row_iq4_xs;
    case DType::mxfp4: return row_mxfp4;
    case DType::iq2_xxs: return row_iq2_xxs;
    case DType::iq2_xs: return row_iq2_xs;
    case DType::iq2_s: return row_iq2_s;
    case DType::iq3_xxs: return row_iq3_xxs;
    case DType::iq3_s: return row_iq3_s;
    case DType::iq1_s: return row_iq1_s;
    case DType::iq1_m: return row_iq1_m;
    default: return std::nullopt;
  }
}

void CpuBackend::linear_rows(const Tensor& x, const Weight& weight, const Tensor& bias, const Epilogue& e, Tensor& y) {
  const RowsWeight& w = rows_of(weight);
  const int64_t M = x.size(0) * x.size(1), N = w.rows.size(0), K = w.rows.size(1), panel = kernels_.panel, threads = pool_.size();
  const DType dtype = w.rows.dtype();
  const TileStore store(kernels_, weight, bias, e, x.size(1), y);
  const int64_t row_bytes = int64_t(bytes_of(dtype, K));

  const LeftTiles left(M, K, kernels_);
  const auto packed = memory_->allocate(size_t(left.size()) * sizeof(float));
  auto* const tiles_of_x = reinterpret_cast<float*>(packed.get());
  const int64_t height = kernels_.dot_rows, width = kernels_.dot_columns;
  pool_.run(left.tiles * parts(K, piece), [&](int64_t i) {
    const int64_t t = i % left.tiles, k0 = i / left.tiles * piece;
    kernels_.pack_left(x.data<float>() + t * height * K + k0, K, std::min(height, M - t * height), std::min(piece, K - k0),
                       left.at(tiles_of_x, t, k0));
  });

  int64_t columns = 6 * panel;
  while (columns > panel && parts(N, columns) < 6 * threads) columns -= panel;
  pool_.run(parts(N, columns), [&](int64_t block) {
    const int64_t n0 = block * columns, n1 = std::min(N, n0 + columns), widths = parts(n1 - n0, width), tiles = left.tiles;
    constexpr int64_t stride = piece + 16;  // not a multiple of 4 KiB, so that rows fall into different cache sets
    const int64_t lane_count = height * width * kernels_.lanes;
    float* right =
        thread_scratch(size_t(width * stride + tiles * lane_count + widths * (tiles * most_dots + height * width) + height * most_width));
    float* lanes = right + width * stride;     // [tiles][height][width][lanes]
    float* sums = lanes + tiles * lane_count;  // [widths][tiles][height][width]

    const int64_t piece_bytes = int64_t(bytes_of(dtype, piece));
    const auto row_at = [&](int64_t n, int64_t k0) { return w.rows.raw() + n * row_bytes + k0 / piece * piece_bytes; };
    for (int64_t k0 = 0; k0 < K; k0 += chunk)
      for (int64_t j = 0; j < widths; ++j) {
        const int64_t first = n0 + j * width, some = std::min(width, n1 - first), end = std::min(K, k0 + chunk);
        for (int64_t k1 = k0; k1 < end; k1 += piece) {
          const int64_t count = std::min(piece, end - k1), steps = left.steps(k1);
          for (int64_t c = 0; c < width; ++c) {
            float* to = right + c * stride;
            if (c < some) kernels_.widen_row(w.type, row_at(first + c, k1), count, to);
            std::fill(to + (c < some ? count : 0), to + steps * kernels_.lanes, 0.0f);
          }
          // Prefetches what comes next: the rest of these rows, or the next rows.
          const bool rest = k1 + piece < end;
          const int64_t next = rest ? first : first + width, next_rows = std::min(width, N - next), next_k = rest ? k1 + piece : k0;
          const int64_t next_bytes = std::min(piece_bytes, row_bytes - next_k / piece * piece_bytes),
                        share = parts(parts(next_bytes, 64), tiles) * 64;
          for (int64_t t = 0; t < tiles; ++t) {
            for (int64_t c = 0; c < next_rows && t * share < next_bytes; ++c)
              for (int64_t byte = t * share; byte < std::min(next_bytes, (t + 1) * share); byte += 64)
                __builtin_prefetch(row_at(next + c, next_k) + byte);
            kernels_.dot_tile(left.at(tiles_of_x, t, k1), right, stride, steps, lanes + t * lane_count,
                              {.first = k1 == k0, .last = !rest, .first_chunk = k0 == 0}, sums + (j * tiles + t) * most_dots);
          }
        }
      }

    // Copies most_width values instead of `width`, because a constant is faster: the next copy overwrites the excess.
    const int64_t line = widths * width + most_width;
    float* const lines = sums + widths * tiles * most_dots;  // [height][line]
    alignas(64) std::array<float, max_tile_rows * 32> acc;
    for (int64_t t = 0; t < tiles; ++t) {
      const int64_t count = std::min(height, M - t * height);
      for (int64_t j = 0; j < widths; ++j)
        for (int64_t r = 0; r < count; ++r)
          std::copy_n(sums + (j * tiles + t) * most_dots + r * width, most_width, lines + r * line + j * width);
      for (int64_t n = n0; n < n1; n += panel) {
        for (int64_t r = 0; r < count; ++r) std::copy_n(lines + r * line + n - n0, std::min(panel, n1 - n), acc.data() + r * panel);
        store.store(acc.data(), t * height, count, n / panel);
      }
    }
  });
}

}  // namespace hearth::cpu
