#include <algorithm>
#include <cstring>

#include "backends/cpu/convolution/conv_weights.h"
#include "backends/cpu/convolution/windows.h"
#include "backends/cpu/cpu_class.h"
#include "backends/cpu/products/bf16.h"

namespace hearth::cpu {
namespace {

alignas(64) const float zeros[product_chunk] = {};

// Rows as runs of C channels, starting at `first`, for each tap.
class TapRows final : public LeftRows {
 public:
  explicit TapRows(const Windows& windows, int64_t first = 0) : windows_(windows), first_(first) {}
  int64_t segments(int64_t row, int64_t rows, int64_t k0, int64_t k1, Segment* out) const override {
    const int64_t C = windows_.channels;
    Windows::Origin origins[max_tile_rows];
    for (int64_t r = 0; r < rows; ++r) origins[r] = windows_.origin(row + r);
    int64_t count = 0;
    for (int64_t k = k0; k < k1; ++count) {
      const int64_t tap = k / C, c = k % C, end = std::min(k1, (tap + 1) * C);
      Segment& s = out[count];
      s.length = end - k;
      for (int64_t r = 0; r < rows; ++r) {
        const float* p = windows_.tap(origins[r], tap);
        s.row[r] = p ? p + first_ + c : zeros;
      }
      k = end;
    }
    return count;
  }

 private:
  const Windows& windows_;
  const int64_t first_;
};

// With few channels, runs would be too short, so the row is gathered.
class GatheredRows final : public LeftRows {
 public:
  explicit GatheredRows(const Windows& windows, int64_t first = 0) : windows_(windows), first_(first) {}
  int64_t segments(int64_t row, int64_t rows, int64_t k0, int64_t k1, Segment* out) const override {
    alignas(64) thread_local float gathered[max_tile_rows][product_chunk];
    const int64_t C = windows_.channels;
    for (int64_t r = 0; r < rows; ++r) {
      const auto origin = windows_.origin(row + r);
      for (int64_t k = k0; k < k1;) {
        const int64_t tap = k / C, c = k % C, end = std::min(k1, (tap + 1) * C);
        const float* p = windows_.tap(origin, tap);
        std::memcpy(gathered[r] + (k - k0), p ? p + first_ + c : zeros, size_t(end - k) * sizeof(float));
        k = end;
      }
      out->row[r] = gathered[r];
    }
    out->length = k1 - k0;
    return 1;
  }

 private:
  const Windows& windows_;
  const int64_t first_;
};

constexpr int64_t depthwise_columns = 256;  // at a time; also the length of the zeros
static_assert(depthwise_columns <= product_chunk && depthwise_columns <= most_stored);
static_assert(product_chunk / few_channels + 2 <= most_runs);

}  // namespace

void CpuBackend::conv(const Tensor& x, const Weight& w, const Tensor& bias, const ConvSpec& spec, const Epilogue& e,
                      const GroupNormSpec& norm, Tensor& y) {
  if (norm) return normalized_conv(x, w, bias, spec, e, norm, y);
  const ConvRoute route = conv_route_of(w, spec);
  switch (route) {
    case ConvRoute::transposed: return conv_transposed(x, w, bias, spec, e, y);
    case ConvRoute::depthwise: return conv_depthwise(x, w, bias, spec, e, y);
    case ConvRoute::grouped: return conv_grouped(x, w, bias, spec, e, y);
    case ConvRoute::bf16: return conv_bf16(x, w.shape, static_cast<const Bf16Weight&>(*w.prepared), bias, spec, e, y);
    default: break;
  }
  const Tensor left = as_f32(x);
  const Windows windows(x, left.data<float>(), w.shape, spec, y);
  const auto& packed = static_cast<const PackedWeight&>(*w.prepared);
  const int64_t image = windows.axes.positions(), rows = y.size(0) * image;
  if (route == ConvRoute::winograd) winograd(windows, packed, bias, e, y);
  else if (route == ConvRoute::gathered) product(GatheredRows(windows), rows, image, packed, bias, e, y);
  else product(TapRows(windows), rows, image, packed, bias, e, y);
}

// One product per group, on its own channels of x and into its own columns of y.
void CpuBackend::conv_grouped(const Tensor& x, const Weight& w, const Tensor& bias, const ConvSpec& spec, const Epilogue& e, Tensor& y) {
  const auto& groups = static_cast<const GroupedWeight&>(*w.prepared).parts;
  const Tensor left = as_f32(x);
  const Windows windows(x, left.data<float>(), w.shape, spec, y);
  const int64_t O = w.shape[0] / w.form.groups, C = windows.channels, image = windows.axes.positions(), rows = y.size(0) * image;
  for (int64_t g = 0; g < w.form.groups; ++g) {
    const auto& packed = static_cast<const PackedWeight&>(*groups[size_t(g)]);
    if (C < few_channels) product(GatheredRows(windows, g * C), rows, image, packed, bias, e, y, g * O);
    else product(TapRows(windows, g * C), rows, image, packed, bias, e, y, g * O);
  }
}

// Each channel alone: the taps of some positions at a time, whose sums stay in registers.
void CpuBackend::conv_depthwise(const Tensor& x, const Weight& w, const Tensor& bias, const ConvSpec& spec, const Epilogue& e, Tensor& y) {
  const auto& own = static_cast<const DepthwiseWeight&>(*w.prepared);
  const Tensor left = as_f32(x);
  const int64_t C = w.shape[0], taps = own.taps;
  const Windows windows(x, left.data<float>(), w.shape, spec, y);
  const int64_t image = windows.axes.positions();
  const TileStore store(kernels_, C, false, bias, e, image, y);
  pool_.for_ranges(y.size(0) * image, std::max<int64_t>(depthwise_rows, 16384 / C), [&](int64_t begin, int64_t end) {
    float* const sums = thread_scratch(size_t(depthwise_rows * depthwise_columns + 2 * depthwise_rows * taps * 2));
    auto* const pixels = reinterpret_cast<const float**>(sums + depthwise_rows * depthwise_columns);  // [row][tap], null for zeros
    const float** const here = pixels + depthwise_rows * taps;                                        // for some columns
    for (int64_t row = begin; row < end; row += depthwise_rows) {
      const int64_t rows = std::min(depthwise_rows, end - row);
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t t = 0; t < taps; ++t) pixels[r * taps + t] = windows.tap(windows.origin(row + r), t);
      for (int64_t c = 0; c < C; c += depthwise_columns) {
        const int64_t columns = std::min(depthwise_columns, C - c);
        for (int64_t i = 0; i < rows * taps; ++i) here[i] = pixels[i] ? pixels[i] + c : zeros;
        kernels_.depthwise(here, taps, rows, own.values() + c, C, columns, sums, depthwise_columns);
        for (int64_t r = 0; r < rows; ++r) store.store(sums + r * depthwise_columns, row + r, 1, c, columns);
      }
    }
  });
}

}  // namespace hearth::cpu
