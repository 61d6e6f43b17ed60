// The pixels under a convolution's kernel: the taps in x of each output position.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "core/axes.h"

namespace hearth::cpu {

// x [B, …, C] under a kernel [O, C, …] that yields y [B, …, O], after the optional nearest resize of x.
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
  const int64_t channels;  // channels of x per row of w

  // Channels of the pixel at frame f, row r and column c of the padded, resized image b; null for zeros.
  const float* pixel(int64_t b, int64_t f, int64_t r, int64_t c) const {
    const int64_t z = source(0, f), y = source(1, r), x = source(2, c);
    return z < 0 || y < 0 || x < 0 ? nullptr : data_ + b * image_ + ((z * axes.in[1] + y) * axes.in[2] + x) * pixel_;
  }

  // The first position of the window of output position p, counted over [B, F', H', W'], and its taps.
  struct Origin {
    int64_t image, frame, row, column;
  };
  Origin origin(int64_t p) const {
    const auto& [frames, rows, columns] = axes.out;
    return {p / (frames * rows * columns), p / (rows * columns) % frames * axes.spec[0].stride, p / columns % rows * axes.spec[1].stride,
            p % columns * axes.spec[2].stride};
  }
  const float* tap(const Origin& p, int64_t t) const {
    const auto& [f, r, c] = taps_[size_t(t)];
    return pixel(p.image, p.frame + f, p.row + r, p.column + c);
  }

 private:
  int64_t source(size_t axis, int64_t i) const {
    const std::vector<int64_t>& from = sources_[axis];
    return i < int64_t(from.size()) ? from[size_t(i)] : -1;
  }

  // Source of each padded index, −1 for zeros. Nearest neighbor as in torch: the ratio and the product in f32.
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
