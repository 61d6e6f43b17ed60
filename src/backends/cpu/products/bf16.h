// Products of bf16 factors: the counterpart of product.h. The right side is packed at load in panels of 32 columns, the last of 16 if
// that is enough, with pairs of k interleaved: [panel][K / 2][columns][2]. The left side is rounded to bf16 once per product (for
// a convolution in strips of padded image rows that stay in cache), and then read in place, 32 rows at a time.
//
// K is summed in order in a single chain, so an element of y depends only on its own row and column.
#pragma once

#include "backends/cpu/kernels/bf16.h"
#include "backends/cpu/products/product.h"

namespace hearth::cpu {

struct Bf16Weight final : CpuWeight, Panels {
  Bf16Weight(int64_t rows, int64_t depth, bool glu);  // sets `bytes`; data is allocated later
  std::shared_ptr<const std::byte> storage() const override { return data; }

  const uint16_t* at(int64_t p, int64_t row) const {  // row even
    return reinterpret_cast<const uint16_t*>(data.get()) + p * panel * k + row * width_of(p);
  }

  int64_t k;  // padded
  std::shared_ptr<std::byte> data;
};

// Layout of a convolution's summation index for bf16 products: (ky, kx, c) with the channels of each tap padded to the
// kernels' depth or, if there are few channels, all taps together padded at the end.
struct Bf16Depth {
  Bf16Depth(int64_t taps, int64_t channels, int64_t unit);
  int64_t channels;  // of a tap in the left side, padded unless gathered
  int64_t total;
  bool gathered;
};

inline constexpr int64_t bf16_block = bf16_rows * bf16_panel;  // sums

// The left side of a bf16 product.
class Bf16Rows {
 public:
  virtual ~Bf16Rows() = default;
  // Fills `out` with the runs of k in [k0, k1) for rows [row, row + rows), rows ≤ bf16_rows; returns how many. `room` (2 · 16 · (k1 − k0)
  // elements) is for rows that must be gathered. The runs are valid until the room is used again.
  virtual int64_t runs(int64_t row, int64_t rows, int64_t k0, int64_t k1, uint16_t* room, Bf16Run* out) const = 0;
};

// Consecutive rows, `stride` elements apart, all of K in one run.
class DenseBf16Rows final : public Bf16Rows {
 public:
  DenseBf16Rows(const uint16_t* x, int64_t stride) : x_(x), stride_(stride) {}
  int64_t runs(int64_t row, int64_t rows, int64_t k0, int64_t k1, uint16_t* room, Bf16Run* out) const override;

 private:
  const uint16_t* x_;
  int64_t stride_;
};

// Stores blocks of sums through the epilogue, whose own panels may be narrower.
class Bf16Store {
 public:
  // w: the columns, in panels of bf16_panel
  Bf16Store(const Kernels& kernels, const Panels& w, const Tensor& bias, const Epilogue& e, int64_t image_rows, const Tensor& y)
      : w_(w), own_{w.n, kernels.panel, w.gated}, store_(kernels, w.n, w.gated, bias, e, image_rows, y) {}
  // The same for a weight in place, with its scale.
  Bf16Store(const Kernels& kernels, const Panels& panels, const Weight& w, const Tensor& bias, const Epilogue& e, int64_t image_rows,
            const Tensor& y)
      : w_(panels), own_{panels.n, kernels.panel, panels.gated}, store_(kernels, w, bias, e, image_rows, y) {}
  Bf16Sums sums(float* block) const {  // in the order that `store` expects
    return {block, side_by_side() ? bf16_panel : bf16_panel / 2, side_by_side() ? bf16_panel / 2 : bf16_block / 2};
  }
  void store(const float* block, int64_t row, int64_t rows, int64_t panel) const;

 private:
  bool side_by_side() const { return own_.panel == bf16_panel; }

  const Panels& w_;
  const Panels own_;
  TileStore store_;
};

inline constexpr int64_t bf16_strip_bytes = int64_t(8) << 20;   // of the rounded left side at a time: stays in cache
inline constexpr int64_t bf16_chunk = 1024;                     // values of k per step of a piece of work
inline constexpr int64_t bf16_most_runs = bf16_chunk / 16 + 2;  // in a chunk: a run has at least 16 channels

}  // namespace hearth::cpu
