#include <algorithm>
#include <cstring>

#include "backends/cpu/bf16.h"
#include "backends/cpu/cpu_class.h"
#include "backends/cpu/windows.h"

namespace hearth::cpu {
namespace {

alignas(64) const float zeros[product_chunk] = {};

// Rows as runs of C channels for each tap.
class TapRows final : public LeftRows {
 public:
  explicit TapRows(const Windows& windows) : windows_(windows) {}
  int64_t segments(int64_t row, int64_t rows, int64_t k0, int64_t k1, Segment* out) const override {
    const int64_t C = windows_.channels;
    Windows::Place places[max_tile_rows];
    for (int64_t r = 0; r < rows; ++r) places[r] = windows_.place(row + r);
    int64_t count = 0;
    for (int64_t k = k0; k < k1; ++count) {
      const int64_t tap = k / C, c = k % C, end = std::min(k1, (tap + 1) * C);
      Segment& s = out[count];
      s.length = end - k;
      for (int64_t r = 0; r < rows; ++r) {
        const float* p = windows_.tap(places[r], tap);
        s.row[r] = p ? p + c : zeros;
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
    const int64_t C = windows_.channels;
    for (int64_t r = 0; r < rows; ++r) {
      const auto place = windows_.place(row + r);
      for (int64_t k = k0; k < k1;) {
        const int64_t tap = k / C, c = k % C, end = std::min(k1, (tap + 1) * C);
        const float* p = windows_.tap(place, tap);
        std::memcpy(gathered[r] + (k - k0), p ? p + c : zeros, size_t(end - k) * sizeof(float));
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

void require_two_axes(const Weight& w, const ConvSpec& spec) {
  const auto plain = [](const ConvSpec::Axis& a) { return a.dilation == 1 && a.edge == ConvSpec::Edge::zeros; };
  if (w.kind != WeightKind::conv || w.shape.rank() != 4 || w.form.groups != 1 || !plain(spec.rows) || !plain(spec.columns))
    fail<UnsupportedError>(
        "conv: the backend cpu has convolutions over rows and columns only, without groups, dilation, edges other than "
        "zeros and transposed forms");
}

static_assert(product_chunk / few_channels + 2 <= most_runs);

}  // namespace

void CpuBackend::conv(const Tensor& x, const Weight& w, const Tensor& bias, const ConvSpec& spec, const Epilogue& e,
                      const GroupNormSpec& norm, Tensor& y) {
  require_two_axes(w, spec);
  if (norm) return normalized_conv(x, w, bias, spec, e, norm, y);
  const ConvRoute route = conv_route_of(w, spec);
  if (route == ConvRoute::bf16) return conv_bf16(x, w.shape, static_cast<const Bf16Weight&>(*w.prepared), bias, spec, e, y);
  const Tensor left = as_f32(x);
  const Windows windows(x, left.data<float>(), w.shape, spec, y);
  const auto& packed = static_cast<const PackedWeight&>(*w.prepared);
  const int64_t image = y.size(1) * y.size(2), rows = y.size(0) * image;
  if (route == ConvRoute::winograd) winograd(windows, packed, bias, e, y);
  else if (route == ConvRoute::gathered) product(GatheredRows(windows), rows, image, packed, bias, e, y);
  else product(TapRows(windows), rows, image, packed, bias, e, y);
}

}  // namespace hearth::cpu
