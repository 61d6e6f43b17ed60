#include <algorithm>
#include <cstring>

#include "backends/cpu/convolution/windows.h"
#include "backends/cpu/cpu_class.h"
#include "backends/cpu/products/bf16.h"
#include "backends/cpu/whole_units.h"

// Convolutions with bf16 factors. The rows of x under a strip of output rows are rounded to bf16, padded at their edges, and then
// multiplied in place: for 16 neighboring outputs, the addresses of each tap are equidistant.
namespace hearth::cpu {
namespace {

// Output rows y0 … y1 of frames u0 … u1, counted over all images; if there are several frames, all rows.
struct Strip {
  int64_t u0, u1, y0, y1;
};

// The taps of a strip: padded rows of pixels x [frame][tap of frames][row][width][channels].
class StripRows final : public Bf16Rows {
 public:
  StripRows(const uint16_t* x, const Strip& strip, const ConvAxes& axes, int64_t lines, int64_t width, int64_t channels)
      : x_(x),
        axes_(axes),
        rows_(strip.y1 - strip.y0),
        columns_(axes.out[2]),
        plane_(lines * width * channels),
        frame_(axes.taps[0] * plane_),
        line_(width * channels),
        channels_(channels) {}

  int64_t runs(int64_t row, int64_t rows, int64_t k0, int64_t k1, uint16_t* room, Bf16Run* out) const override {
    int64_t count = 0;
    for (int64_t k = k0; k < k1; ++count) {
      const int64_t tap = k / channels_, c = k % channels_, end = std::min(k1, (tap + 1) * channels_), length = end - k;
      const int64_t offset = tap / (axes_.taps[1] * axes_.taps[2]) * plane_ +
                             tap / axes_.taps[2] % axes_.taps[1] * axes_.spec[1].dilation * line_ +
                             tap % axes_.taps[2] * axes_.spec[2].dilation * channels_ + c;
      Bf16Run& run = out[count];
      run.length = length;
      for (int64_t half = 0; half < 2; ++half) {
        const int64_t first = row + 16 * half, own = std::min<int64_t>(16, row + rows - first);
        if (own <= 0) {
          run.half[half] = run.half[0], run.stride[half] = run.stride[0];
        } else if (first % columns_ + own <= columns_) {  // in one output row
          run.half[half] = x_ + pixel(first) + offset, run.stride[half] = axes_.spec[2].stride * channels_;
        } else {
          run.half[half] = room, run.stride[half] = length;
          for (int64_t r = 0; r < own; ++r)
            std::memcpy(room + r * length, x_ + pixel(first + r) + offset, size_t(length) * sizeof(uint16_t));
          room += 16 * length;
        }
      }
      k = end;
    }
    return count;
  }

 private:
  // First position of the window of the strip's output p.
  int64_t pixel(int64_t p) const {
    return p / (rows_ * columns_) * frame_ + p / columns_ % rows_ * axes_.spec[1].stride * line_ +
           p % columns_ * axes_.spec[2].stride * channels_;
  }

  const uint16_t* x_;
  const ConvAxes& axes_;
  int64_t rows_, columns_, plane_, frame_, line_, channels_;
};

}  // namespace

void CpuBackend::conv_bf16(const Tensor& x, const Shape& shape, const Bf16Weight& packed, const Tensor& bias, const ConvSpec& spec,
                           const Epilogue& e, Tensor& y) {
  const Tensor input = as_f32(x);
  const Windows windows(x, input.data<float>(), shape, spec, y);
  const ConvAxes& axes = windows.axes;
  const int64_t taps = axes.kernel(), B = y.size(0), image = axes.positions(), C = windows.channels;
  const int64_t frames = axes.out[0], H = axes.out[1], W = axes.out[2];
  const Bf16Depth depth(taps, C, kernels_.bf16->depth);
  const int64_t channels = depth.channels;
  const auto round = [&](const float* pixel, int64_t stored, uint16_t* to) {
    if (pixel) kernels_.round_bf16(pixel, C, to);
    std::fill(to + (pixel ? C : 0), to + stored, uint16_t(0));
  };

  if (depth.gathered || taps == 1)  // the taps of each output next to each other
    return dense_bf16(B * image, image, packed, bias, e, y, [&](int64_t p, uint16_t* to) {
      const auto origin = windows.origin(p);
      for (int64_t tap = 0; tap < taps; ++tap) round(windows.tap(origin, tap), channels, to + tap * channels);
      std::fill(to + taps * channels, to + packed.k, uint16_t(0));
    });

  const int64_t stride = axes.spec[1].stride, reach = axes.reach(1), kf = axes.taps[0];
  const int64_t width = (W - 1) * axes.spec[2].stride + axes.reach(2), line_bytes = width * channels * int64_t(sizeof(uint16_t));
  const int64_t frame_lines = kf * ((H - 1) * stride + reach), units = B * frames;
  const int64_t together = std::clamp<int64_t>(bf16_strip_bytes / (frame_lines * line_bytes), 1, units);  // frames
  const int64_t most = std::clamp<int64_t>((bf16_strip_bytes / (kf * line_bytes) - reach) / stride + 1, std::min<int64_t>(8, H), H);
  const int64_t strips = together > 1 ? 1 : parts(H, most), rows = parts(H, strips);
  const int64_t lines = together > 1 ? together * frame_lines : kf * ((rows - 1) * stride + reach);
  // The last tile may read 16 outputs' windows beyond the strip.
  const auto memory =
      memory_->allocate(size_t(lines * line_bytes + (16 * axes.spec[2].stride + axes.reach(2)) * channels * int64_t(sizeof(uint16_t))));
  auto* const left = reinterpret_cast<uint16_t*>(memory.get());

  for (int64_t u0 = 0; u0 < units; u0 += together)
    for (int64_t s = 0; s < strips; ++s) {
      const Strip strip{u0, std::min(units, u0 + together), H * s / strips, H * (s + 1) / strips};
      const int64_t own = (strip.y1 - strip.y0 - 1) * stride + reach;  // lines per tap of frames
      pool_.run((strip.u1 - strip.u0) * kf * own, [&](int64_t line) {
        const int64_t unit = strip.u0 + line / (kf * own), r = strip.y0 * stride + line % own;
        const int64_t f = unit % frames * axes.spec[0].stride + line / own % kf * axes.spec[0].dilation;
        for (int64_t c = 0; c < width; ++c) round(windows.pixel(unit / frames, f, r, c), channels, left + (line * width + c) * channels);
      });
      const StripRows left_rows(left, strip, axes, own, width, channels);
      product_bf16(left_rows, (strip.u1 - strip.u0) * (strip.y1 - strip.y0) * W, image, (strip.u0 * H + strip.y0) * W, packed, bias, e, y);
    }
}

}  // namespace hearth::cpu
