// The pixels under a convolution's kernel: where each output position finds its taps in x.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "core/backend.h"

namespace hearth::cpu {

// Frames, rows and columns of a convolution. Those that its kernel lacks have one position.
struct ConvAxes {
  // x [B, …, C], w [.., .., kernel …], y [B, …, O]
  ConvAxes(const Tensor& x, const Shape& w, const ConvSpec& spec_, const Tensor& y) {
    const int count = w.rank() - 2;
    for (int i = 0; i < count; ++i) {
      const auto at = size_t(3 - count + i);
      in[at] = x.size(1 + i), out[at] = y.size(1 + i), taps[at] = w[2 + i], spec[at] = spec_.axis(i, count);
    }
  }
  int64_t kernel() const { return taps[0] * taps[1] * taps[2]; }
  int64_t positions() const { return out[0] * out[1] * out[2]; }                           // of y
  int64_t reach(size_t axis) const { return spec[axis].dilation * (taps[axis] - 1) + 1; }  // positions from the first tap to the last

  std::array<int64_t, 3> in{1, 1, 1}, out{1, 1, 1}, taps{1, 1, 1};
  std::array<ConvSpec::Axis, 3> spec{};
};

inline int64_t taps_of(const Shape& w) {
  int64_t taps = 1;
  for (int axis = 2; axis < w.rank(); ++axis) taps *= w[axis];
  return taps;
}

// x [B, …, C] seen by a kernel [O, C, …] that makes y [B, …, O], after the optional nearest resize of x.
class Windows {
 public:
  Windows(const Tensor& x, const float* data, const Shape& w, const ConvSpec& spec, const Tensor& y)
      : axes(x, w, spec, y),
        channels(w[1]),
        data_(data),
        pixel_(x.size(-1)),
        image_(x.numel() / std::max<int64_t>(1, x.size(0))),
        sources_{sources(0, 0), sources(1, spec.resize_to[0]), sources(2, spec.resize_to[1])} {
    taps_.reserve(size_t(axes.kernel()));
    for (int64_t t = 0; t < axes.kernel(); ++t)
      taps_.push_back({t / (axes.taps[1] * axes.taps[2]) * axes.spec[0].dilation, t / axes.taps[2] % axes.taps[1] * axes.spec[1].dilation,
                       t % axes.taps[2] * axes.spec[2].dilation});
  }

  const ConvAxes axes;
  const int64_t channels;  // that a row of w meets

  // Channels of the pixel at frame f, row r and column c of the padded, resized image b; null for zeros.
  const float* pixel(int64_t b, int64_t f, int64_t r, int64_t c) const {
    const int64_t z = source(0, f), y = source(1, r), x = source(2, c);
    return z < 0 || y < 0 || x < 0 ? nullptr : data_ + b * image_ + ((z * axes.in[1] + y) * axes.in[2] + x) * pixel_;
  }

  // Where the window of output position p, counted over [B, F', H', W'], begins; and its taps.
  struct Place {
    int64_t image, frame, row, column;
  };
  Place place(int64_t p) const {
    const auto& [frames, rows, columns] = axes.out;
    return {p / (frames * rows * columns), p / (rows * columns) % frames * axes.spec[0].stride, p / columns % rows * axes.spec[1].stride,
            p % columns * axes.spec[2].stride};
  }
  const float* tap(const Place& p, int64_t t) const {
    const auto& [f, r, c] = taps_[size_t(t)];
    return pixel(p.image, p.frame + f, p.row + r, p.column + c);
  }

 private:
  int64_t source(size_t axis, int64_t i) const {
    const std::vector<int64_t>& from = sources_[axis];
    return i < int64_t(from.size()) ? from[size_t(i)] : -1;
  }

  // Source of each padded index, −1 for zeros. Nearest neighbour as torch computes it: the ratio and the product in f32.
  std::vector<int64_t> sources(size_t axis, int64_t resized) const {
    const ConvSpec::Axis& a = axes.spec[axis];
    const int64_t size = axes.in[axis];
    if (resized <= 0) resized = size;
    const float ratio = float(size) / float(resized);
    std::vector<int64_t> from(size_t((axes.out[axis] - 1) * a.stride + axes.reach(axis)), -1);
    for (size_t i = 0; i < from.size(); ++i) {
      int64_t at = int64_t(i) - a.before;
      if (a.edge == ConvSpec::Edge::nearest) at = std::clamp<int64_t>(at, 0, resized - 1);
      if (at >= 0 && at < resized) from[i] = resized == size ? at : std::min(int64_t(float(at) * ratio), size - 1);
    }
    return from;
  }

  const float* data_;
  const int64_t pixel_, image_;
  const std::array<std::vector<int64_t>, 3> sources_;
  std::vector<std::array<int64_t, 3>> taps_;
};

}  // namespace hearth::cpu
