// The pixels under a convolution's kernel: where each output position finds its taps in x.
#pragma once

#include <algorithm>
#include <vector>

#include "core/backend.h"

namespace hearth::cpu {

// x [B, H, W, C] seen by a kernel [O, C, kh, kw] that makes y [B, H', W', O], after the optional nearest resize of x.
class Windows {
 public:
  Windows(const Tensor& x, const float* data, const Shape& w, const ConvSpec& spec, const Tensor& y)
      : channels(x.size(3)),
        rows(y.size(1)),
        columns(y.size(2)),
        data_(data),
        width_(x.size(2)),
        image_(x.size(1) * x.size(2) * channels),
        kernel_width_(w[3]),
        row_stride_(spec.rows.stride),
        column_stride_(spec.columns.stride),
        row_(sources(y.size(1), w[2], spec.rows.stride, spec.rows.before, x.size(1), spec.resize_to[0])),
        column_(sources(y.size(2), w[3], spec.columns.stride, spec.columns.before, x.size(2), spec.resize_to[1])) {}

  const int64_t channels, rows, columns;  // of x; of y

  // Channels of the pixel at row r and column c of the padded, resized image b; null outside x.
  const float* pixel(int64_t b, int64_t r, int64_t c) const {
    if (r >= int64_t(row_.size()) || c >= int64_t(column_.size())) return nullptr;
    const int64_t y = row_[size_t(r)], x = column_[size_t(c)];
    return y < 0 || x < 0 ? nullptr : data_ + b * image_ + (y * width_ + x) * channels;
  }

  // Where the window of output position p, counted over [B, H', W'], begins; and its taps.
  struct Place {
    int64_t image, row, column;
  };
  Place place(int64_t p) const {
    return {p / (rows * columns), p % (rows * columns) / columns * row_stride_, p % columns * column_stride_};
  }
  const float* tap(const Place& p, int64_t t) const { return pixel(p.image, p.row + t / kernel_width_, p.column + t % kernel_width_); }

 private:
  // Source of each padded index, −1 outside. Nearest neighbour as torch computes it: the ratio and the product in f32.
  static std::vector<int64_t> sources(int64_t outputs, int64_t kernel, int64_t stride, int64_t before, int64_t size, int64_t resized) {
    if (resized <= 0) resized = size;
    const float ratio = float(size) / float(resized);
    std::vector<int64_t> from(size_t((outputs - 1) * stride + kernel), -1);
    for (size_t i = 0; i < from.size(); ++i) {
      const int64_t at = int64_t(i) - before;
      if (at >= 0 && at < resized) from[i] = std::min(int64_t(float(at) * ratio), size - 1);
    }
    return from;
  }

  const float* data_;
  int64_t width_, image_, kernel_width_, row_stride_, column_stride_;
  std::vector<int64_t> row_, column_;
};

}  // namespace hearth::cpu
