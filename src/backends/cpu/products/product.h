// The blocked product behind linear and conv:  y [M, N] = epilogue(left [M, K] · wᵀ [K, N]).
//
// The right side is packed once, at load, in panels of as many columns as a tile has: [N / panel][K][panel], the last panel
// of one register's width if that is enough. In a gated linear unit, a panel holds one register of values and one of their
// gates, which the epilogue combines. The left side is never packed or copied: a tile receives a pointer to each of
// its rows for each run of k in which the row is contiguous (a convolution has one run per kernel tap).
//
// K is split into chunks of a fixed size; each chunk's sum starts at zero and the chunks are added in order. So an element of y
// depends only on its own row and column: not on threads, batch or position.
#pragma once

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/memory.h"
#include "backends/cpu/products/route.h"

namespace hearth::cpu {

inline constexpr int64_t product_chunk = 512;  // of k
inline constexpr int64_t most_runs = 40;       // of contiguous k in a chunk

// The columns of a product in panels. A panel of a gated linear unit is half values and half their gates.
struct Panels {
  int64_t n, panel;  // rows of the weight; columns of a panel
  bool gated;
  int64_t outputs() const { return gated ? n / 2 : n; }       // columns of y
  int64_t step() const { return gated ? panel / 2 : panel; }  // columns of y in a panel
  int64_t column(int64_t p) const { return p * step(); }      // the first column of y in panel p
  int64_t panels() const { return (outputs() + step() - 1) / step(); }
  int64_t columns_of(int64_t p) const { return std::min(step(), outputs() - column(p)); }
  bool wide(int64_t p) const { return gated || columns_of(p) > panel / 2; }
  int64_t width_of(int64_t p) const { return wide(p) ? panel : panel / 2; }  // columns stored
};

struct PackedWeight final : CpuWeight, Panels {
  PackedWeight(int64_t rows, int64_t depth, const Kernels& kernels, DType type, bool glu);  // sets `bytes`; data is allocated later
  std::shared_ptr<const std::byte> storage() const override { return data; }

  const std::byte* at(int64_t p, int64_t depth) const {  // row `depth` of panel p
    return data.get() + size_t(p * panel * k + depth * width_of(p)) * size_of(dtype);
  }

  int64_t k;
  DType dtype;
  std::shared_ptr<std::byte> data;
};

inline constexpr int64_t most_stored = max_tile_rows * 32;  // values of a tile

// Stores tiles: the epilogue in f32, rounded once, at the only store to y [rows, outputs]. Panels are as wide as the kernels' tiles.
class TileStore {
 public:
  // n columns of y, numbered as the rows of a weight, from column `first` on.
  TileStore(const Kernels& kernels, int64_t n, bool gated, const Tensor& bias, const Epilogue& e, int64_t image_rows, const Tensor& y,
            int64_t first = 0)
      : kernels_(kernels), w_{n, kernels.panel, gated}, bias_(bias), e_(e), image_rows_(image_rows), y_(y), first_(first) {}
  // All of y, for a weight in place, with its scale.
  TileStore(const Kernels& kernels, const Weight& w, const Tensor& bias, const Epilogue& e, int64_t image_rows, const Tensor& y)
      : TileStore(kernels, w.out(), w.kind == WeightKind::glu, bias, e, image_rows, y) {
    scale_ = w.scale;
  }
  // Call it before a tile is computed: stores to uncached lines would stall everything behind them.
  void fetch(int64_t row, int64_t rows, int64_t panel) const;
  // acc [rows][panel]: sums of rows row, row + 1, … and the columns of a panel; rows ≤ max_tile_rows
  void store(const float* acc, int64_t row, int64_t rows, int64_t panel) const;
  // The same for some columns: acc [rows][panel] or, for a single row, at most most_stored; any number of columns if x and y are f32.
  void store(const float* acc, int64_t row, int64_t rows, int64_t column, int64_t columns) const;

 private:
  const Kernels& kernels_;
  Panels w_;
  const Tensor& bias_;
  const Epilogue& e_;
  int64_t image_rows_;
  const Tensor& y_;
  int64_t first_;
  Tensor scale_;  // Weight::scale
};

// Addresses of the rows of the left side.
class LeftRows {
 public:
  virtual ~LeftRows() = default;
  // Fills `out` (room for most_runs) with the runs of k in [k0, k1) for rows [row, row + rows); returns their number.
  // They are valid until the thread's next call.
  virtual int64_t segments(int64_t row, int64_t rows, int64_t k0, int64_t k1, Segment* out) const = 0;
};

}  // namespace hearth::cpu
