#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/cpu/cpu_class.h"
#include "backends/cpu/product.h"

namespace hearth::cpu {
namespace {

alignas(64) const float zeros[product_chunk] = {};

// The window of an output position, tap by tap: for each a pointer to C channels of x, or to zeros.
class Windows {
 public:
  Windows(const Tensor& x, const float* data, const Shape& w, const ConvSpec& spec, const Tensor& y)
      : data_(data),
        C(x.size(3)),
        kw_(w[3]),
        W_(x.size(2)),
        columns_(y.size(2)),
        image_(y.size(1) * y.size(2)),
        stride_(spec.stride),
        pixels_(x.size(1) * x.size(2)) {
    const bool resized = spec.resize_to[0] > 0;
    row_ = sources(y.size(1), w[2], spec.padding[0], x.size(1), resized ? spec.resize_to[0] : x.size(1));
    column_ = sources(y.size(2), w[3], spec.padding[1], x.size(2), resized ? spec.resize_to[1] : x.size(2));
  }

  struct Place {
    const float* image;
    const int64_t *row, *column;  // source row of tap 0, 1, …; −1 outside
  };
  Place place(int64_t position) const {
    const int64_t b = position / image_, oy = position % image_ / columns_, ox = position % columns_;
    return {data_ + b * pixels_ * C, row_.data() + oy * stride_, column_.data() + ox * stride_};
  }
  const float* at(const Place& p, int64_t tap) const {
    const int64_t y = p.row[tap / kw_], x = p.column[tap % kw_];
    return y < 0 || x < 0 ? zeros : p.image + (y * W_ + x) * C;
  }

 private:
  // Source index of each padded index, nearest neighbour as torch computes it: the ratio and the product in f32.
  std::vector<int64_t> sources(int64_t outputs, int64_t kernel, int64_t before, int64_t size, int64_t resized) const {
    const float ratio = float(size) / float(resized);
    std::vector<int64_t> from(size_t((outputs - 1) * stride_ + kernel), -1);
    for (size_t i = 0; i < from.size(); ++i) {
      const int64_t at = int64_t(i) - before;
      if (at >= 0 && at < resized) from[i] = resized == size ? at : std::min(int64_t(float(at) * ratio), size - 1);
    }
    return from;
  }

  const float* data_;

 public:
  const int64_t C;

 private:
  int64_t kw_, W_, columns_, image_, stride_, pixels_;
  std::vector<int64_t> row_, column_;
};

// Rows as runs of C channels for each tap.
class TapRows final : public LeftRows {
 public:
  explicit TapRows(const Windows& windows) : windows_(windows) {}
  int64_t segments(int64_t row, int64_t rows, int64_t k0, int64_t k1, Segment* out) const override {
    const int64_t C = windows_.C;
    Windows::Place places[max_tile_rows];
    for (int64_t r = 0; r < rows; ++r) places[r] = windows_.place(row + r);
    int64_t count = 0;
    for (int64_t k = k0; k < k1; ++count) {
      const int64_t tap = k / C, c = k % C, end = std::min(k1, (tap + 1) * C);
      Segment& s = out[count];
      s.length = end - k;
      for (int64_t r = 0; r < rows; ++r) {
        const float* p = windows_.at(places[r], tap);
        s.row[r] = p == zeros ? zeros : p + c;
      }
      k = end;
    }
    return count;
  }

 private:
  const Windows& windows_;
};

// Few channels: runs would be too short, so the row is gathered.
class GatheredRows final : public LeftRows {
 public:
  explicit GatheredRows(const Windows& windows) : windows_(windows) {}
  int64_t segments(int64_t row, int64_t rows, int64_t k0, int64_t k1, Segment* out) const override {
    alignas(64) thread_local float gathered[max_tile_rows][product_chunk];
    const int64_t C = windows_.C;
    for (int64_t r = 0; r < rows; ++r) {
      const auto place = windows_.place(row + r);
      for (int64_t k = k0; k < k1;) {
        const int64_t tap = k / C, c = k % C, end = std::min(k1, (tap + 1) * C);
        std::memcpy(gathered[r] + (k - k0), windows_.at(place, tap) + c, size_t(end - k) * sizeof(float));
        k = end;
      }
      out->row[r] = gathered[r];
    }
    out->length = k1 - k0;
    return 1;
  }

 private:
  const Windows& windows_;
};

constexpr int64_t few_channels = 16;
static_assert(product_chunk / few_channels + 2 <= most_runs);

}  // namespace

void CpuBackend::conv2d(const Tensor& x, const Weight& w, const Tensor& bias, const ConvSpec& spec, const Epilogue& e, Tensor& y) {
  const Tensor left = as_f32(x);
  const Windows windows(x, left.data<float>(), w.shape, spec, y);
  const auto& packed = static_cast<const PackedWeight&>(*w.prepared);
  const int64_t image = y.size(1) * y.size(2), rows = y.size(0) * image;
  if (windows.C < few_channels) product(GatheredRows(windows), rows, image, packed, bias, e, y);
  else product(TapRows(windows), rows, image, packed, bias, e, y);
}

}  // namespace hearth::cpu
