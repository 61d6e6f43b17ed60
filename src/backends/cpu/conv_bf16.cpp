#include <algorithm>
#include <cstring>

#include "backends/cpu/bf16.h"
#include "backends/cpu/cpu_class.h"
#include "backends/cpu/windows.h"

// Convolutions with bf16 factors. The rows of x under a strip of output rows are rounded to bf16, padded at their edges, and then
// multiplied where they lie: 16 neighbouring outputs find each tap at a fixed distance from one another.
namespace hearth::cpu {
namespace {

int64_t parts(int64_t n, int64_t size) { return (n + size - 1) / size; }

// Output rows y0 … y1 of images b0 … b1; of several images all rows.
struct Strip {
  int64_t b0, b1, y0, y1;
};

// The taps of a strip: padded rows of pixels x [image][row][width][channels].
class StripRows final : public Bf16Rows {
 public:
  StripRows(const uint16_t* x, const Strip& strip, const Shape& w, const ConvSpec& spec, int64_t columns, int64_t width, int64_t channels)
      : x_(x),
        kernel_width_(w[3]),
        row_stride_(spec.rows.stride),
        column_stride_(spec.columns.stride),
        rows_(strip.y1 - strip.y0),
        columns_(columns),
        image_(((rows_ - 1) * row_stride_ + w[2]) * width * channels),
        line_(width * channels),
        channels_(channels) {}

  int64_t runs(int64_t row, int64_t rows, int64_t k0, int64_t k1, uint16_t* room, Bf16Run* out) const override {
    int64_t count = 0;
    for (int64_t k = k0; k < k1; ++count) {
      const int64_t tap = k / channels_, c = k % channels_, end = std::min(k1, (tap + 1) * channels_), length = end - k;
      const int64_t offset = tap / kernel_width_ * line_ + tap % kernel_width_ * channels_ + c;
      Bf16Run& run = out[count];
      run.length = length;
      for (int64_t half = 0; half < 2; ++half) {
        const int64_t first = row + 16 * half, own = std::min<int64_t>(16, row + rows - first);
        if (own <= 0) {
          run.half[half] = run.half[0], run.stride[half] = run.stride[0];
        } else if (first % columns_ + own <= columns_) {  // in one output row
          run.half[half] = x_ + pixel(first) + offset, run.stride[half] = column_stride_ * channels_;
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
  // Where the window of the strip's output p begins.
  int64_t pixel(int64_t p) const {
    return p / (rows_ * columns_) * image_ + p / columns_ % rows_ * row_stride_ * line_ + p % columns_ * column_stride_ * channels_;
  }

  const uint16_t* x_;
  int64_t kernel_width_, row_stride_, column_stride_, rows_, columns_, image_, line_, channels_;
};

}  // namespace

void CpuBackend::conv_bf16(const Tensor& x, const Shape& shape, const Bf16Weight& packed, const Tensor& bias, const ConvSpec& spec,
                           const Epilogue& e, Tensor& y) {
  const int64_t kh = shape[2], kw = shape[3], B = y.size(0), H = y.size(1), W = y.size(2), image = H * W;
  const Bf16Depth depth(kh * kw, x.size(3), kernels_.bf16->depth);
  const Tensor input = as_f32(x);
  const Windows windows(x, input.data<float>(), shape, spec, y);
  const int64_t C = windows.channels, channels = depth.channels;
  const auto round = [&](const float* pixel, int64_t stored, uint16_t* to) {
    if (pixel) kernels_.round_bf16(pixel, C, to);
    std::fill(to + (pixel ? C : 0), to + stored, uint16_t(0));
  };

  if (depth.gathered || kh * kw == 1)  // each output's taps side by side
    return dense_bf16(B * image, image, packed, bias, e, y, [&](int64_t p, uint16_t* to) {
      const auto place = windows.place(p);
      for (int64_t tap = 0; tap < kh * kw; ++tap) round(windows.tap(place, tap), channels, to + tap * channels);
      std::fill(to + kh * kw * channels, to + packed.k, uint16_t(0));
    });

  const int64_t width = (W - 1) * spec.columns.stride + kw, line_bytes = width * channels * int64_t(sizeof(uint16_t));
  const int64_t image_lines = (H - 1) * spec.rows.stride + kh;
  const int64_t together = std::clamp<int64_t>(bf16_strip_bytes / (image_lines * line_bytes), 1, B);  // images
  const int64_t most = std::clamp<int64_t>((bf16_strip_bytes / line_bytes - kh) / spec.rows.stride + 1, 8, H);
  const int64_t strips = together > 1 ? 1 : parts(H, most), rows = parts(H, strips);
  const int64_t lines = together > 1 ? together * image_lines : (rows - 1) * spec.rows.stride + kh;
  // The last tile may read 16 outputs' windows beyond the strip.
  const auto memory =
      memory_->allocate(size_t(lines * line_bytes + (16 * spec.columns.stride + kw) * channels * int64_t(sizeof(uint16_t))));
  auto* const left = reinterpret_cast<uint16_t*>(memory.get());

  for (int64_t b0 = 0; b0 < B; b0 += together)
    for (int64_t s = 0; s < strips; ++s) {
      const Strip strip{b0, std::min(B, b0 + together), H * s / strips, H * (s + 1) / strips};
      const int64_t own = (strip.y1 - strip.y0 - 1) * spec.rows.stride + kh;  // lines of an image
      pool_.run((strip.b1 - strip.b0) * own, [&](int64_t line) {
        const int64_t b = strip.b0 + line / own, r = strip.y0 * spec.rows.stride + line % own;
        for (int64_t c = 0; c < width; ++c) round(windows.pixel(b, r, c), channels, left + (line * width + c) * channels);
      });
      const StripRows taps(left, strip, shape, spec, W, width, channels);
      product_bf16(taps, (strip.b1 - strip.b0) * (strip.y1 - strip.y0) * W, image, (strip.b0 * H + strip.y0) * W, packed, bias, e, y);
    }
}

}  // namespace hearth::cpu
