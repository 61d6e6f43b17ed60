// Axes of a convolution or pooling as backends see them: always frames, rows and columns. An axis that the op lacks has size 1.
#pragma once

#include "core/specs.h"

namespace hearth {

using Position = std::array<int64_t, 3>;  // frame, row, column

inline int64_t count_of(const Position& sizes) { return sizes[0] * sizes[1] * sizes[2]; }

// Converts the index of a position in a box of these sizes, counted row by row, to its coordinates, and back.
inline Position position_of(int64_t i, const Position& sizes) { return {i / (sizes[1] * sizes[2]), i / sizes[2] % sizes[1], i % sizes[2]}; }
inline int64_t index_of(const Position& at, const Position& sizes) { return (at[0] * sizes[1] + at[1]) * sizes[2] + at[2]; }

// Number of kernel taps of a convolution's weight [.., .., kernel …].
inline int64_t taps_of(const Shape& w) {
  int64_t taps = 1;
  for (int axis = 2; axis < w.rank(); ++axis) taps *= w[axis];
  return taps;
}

struct ConvAxes {
  // x [B, …, C], w [.., .., kernel …], y [B, …, O]
  ConvAxes(const Tensor& x, const Shape& w, const ConvSpec& spec_, const Tensor& y) {
    const int count = w.rank() - 2;
    for (int i = 0; i < count; ++i) {
      const auto at = size_t(3 - count + i);
      in[at] = x.size(1 + i), out[at] = y.size(1 + i), taps[at] = w[2 + i], spec[at] = spec_.axis(i, count);
    }
  }
  int64_t kernel() const { return count_of(taps); }
  int64_t positions() const { return count_of(out); }                                      // of y
  int64_t reach(size_t axis) const { return spec[axis].dilation * (taps[axis] - 1) + 1; }  // extent of the dilated kernel, in positions

  Position in{1, 1, 1}, out{1, 1, 1}, taps{1, 1, 1};
  std::array<ConvSpec::Axis, 3> spec{};
};

struct PoolAxes {
  // x [B, …, C], y [B, …, C]
  PoolAxes(const Tensor& x, const PoolSpec& spec, const Tensor& y) {
    const int count = x.rank() - 2;
    for (int i = 0; i < count; ++i) {
      const auto at = size_t(3 - count + i);
      in[at] = x.size(1 + i), out[at] = y.size(1 + i), window[at] = spec.axis(i, count), taps[at] = window[at].size;
    }
  }

  Position in{1, 1, 1}, out{1, 1, 1}, taps{1, 1, 1};
  std::array<PoolSpec::Axis, 3> window{};
};

}  // namespace hearth
