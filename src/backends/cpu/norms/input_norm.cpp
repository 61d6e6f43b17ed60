#include <algorithm>
#include <cstring>

#include "backends/cpu/cpu_class.h"
#include "backends/cpu/whole_units.h"

// Products and convolutions that normalize their input. A small x is normalized as a whole. An x larger than a cache is normalized in
// strips of rows, each used while it is in cache: half the memory traffic, and no second tensor of that size.
// A strip starts at a multiple of four output rows, so that Winograd's patches, and with them all bits, are those of the whole.
namespace hearth::cpu {
namespace {

constexpr int64_t whole_bytes = int64_t(32) << 20;  // x of up to this size is normalized in one piece
constexpr int64_t strip_bytes = int64_t(8) << 20;   // of normalized rows
constexpr int64_t step = 4;                         // output rows

bool fits(const Tensor& x) { return x.numel() * int64_t(sizeof(float)) <= whole_bytes; }

// How output rows map to the rows of x.
struct Rows {
  int64_t input, output, kernel = 1, stride = 1, top = 0;
  int64_t in_strip(int64_t row_bytes) const { return std::max(step, ((strip_bytes / row_bytes - kernel) / stride + 1) / step * step); }
};

// The part of an epilogue for output rows [begin, end) of image b.
Epilogue part_of(const Epilogue& e, int64_t b, int64_t begin, int64_t end) {
  Epilogue part = e;
  if (e.per_image) part.per_image = e.per_image.slice(0, b, b + 1);
  if (e.addend) part.addend = e.addend.slice(0, b, b + 1).slice(1, begin, end);
  if (e.gate) part.gate = e.gate.slice(0, b, b + 1);
  if (e.residual) part.residual = e.residual.slice(0, b, b + 1).slice(1, begin, end);
  return part;
}

// compute(strip [1, rows, W, C], zero rows above it, zero rows below it, image, first and last output row) for each strip of x.
template <class Normalize, class F> void for_strips(const Tensor& x, const Rows& rows, const Normalize& normalize, const F& compute) {
  const int64_t row = x.size(2) * x.size(3), most_rows = rows.in_strip(row * int64_t(sizeof(float)));
  // Strips of nearly equal height: a product of the last few rows could take another route.
  const int64_t height = std::min(rows.output, padded(parts(rows.output, parts(rows.output, most_rows)), step));
  const int64_t most = std::min(rows.input, (height - 1) * rows.stride + rows.kernel);
  const Tensor buffer = Tensor::empty(x.backend(), {1, most, x.size(2), x.size(3)});
  for (int64_t b = 0; b < x.size(0); ++b) {
    int64_t begin = 0, end = 0;  // rows of x that are in the buffer
    for (int64_t first = 0; first < rows.output; first += height) {
      const int64_t last = std::min(rows.output, first + height);
      const int64_t from = first * rows.stride - rows.top, to = (last - 1) * rows.stride + rows.kernel - rows.top;
      const int64_t next = std::clamp<int64_t>(from, 0, rows.input), next_end = std::clamp<int64_t>(to, next, rows.input);
      const int64_t kept = std::max<int64_t>(0, end - next);  // the kernel's overlap with the previous strip
      if (kept > 0)
        x.backend().threads().run(1, [&](int64_t) {
          std::memmove(buffer.data<float>(), buffer.data<float>() + (next - begin) * row, size_t(kept * row) * sizeof(float));
        });
      begin = next, end = next_end;
      Tensor fresh = buffer.slice(1, kept, end - begin);
      if (fresh.numel() > 0) normalize(x.slice(0, b, b + 1).slice(1, begin + kept, end), b, fresh);
      const int64_t above = std::min(std::max<int64_t>(0, -from), to - from);
      compute(buffer.slice(1, 0, end - begin), above, to - from - above - (end - begin), b, first, last);
      if (!x.backend().computes()) return;  // no other strip needs more memory
    }
  }
}

}  // namespace

void CpuBackend::normalized_conv(const Tensor& x, const Weight& w, const Tensor& bias, const ConvSpec& spec, const Epilogue& e,
                                 const GroupNormSpec& norm, Tensor& y) {
  // A resized x, whose rows are not evenly spaced, and padding other than zeros between strips require the whole normalized x.
  const bool in_rows = w.kind == WeightKind::conv && w.shape.rank() == 4 && w.form.groups == 1 && spec.resize_to[0] == 0 &&
                       spec.rows.edge == ConvSpec::Edge::zeros;
  if (!in_rows || fits(x)) {
    Tensor whole = Tensor::empty(*this, x.shape());
    group_norm(x, norm, whole);
    return conv(whole, w, bias, spec, e, {}, y);
  }
  const ChannelNorm channels = statistics(x, norm);
  for_strips(
      x,
      {.input = x.size(1),
       .output = y.size(1),
       .kernel = spec.rows.dilation * (w.shape[2] - 1) + 1,
       .stride = spec.rows.stride,
       .top = spec.rows.before},
      [&](const Tensor& rows, int64_t b, Tensor& to) { normalize(rows, b, channels, norm.activation, to); },
      [&](const Tensor& strip, int64_t above, int64_t below, int64_t b, int64_t first, int64_t last) {
        ConvSpec part = spec;
        part.rows.before = above, part.rows.after = below;
        Tensor to = y.slice(0, b, b + 1).slice(1, first, last);
        conv(strip, w, bias, part, part_of(e, b, first, last), {}, to);
      });
}

void CpuBackend::normalized_linear(const Tensor& x, const Weight& w, const Tensor& bias, const Epilogue& e, const GroupNormSpec& norm,
                                   Tensor& y) {
  const auto [B, M, K] = x.dims<3>();
  if (fits(x)) {
    Tensor whole = Tensor::empty(*this, x.shape());
    group_norm(x, norm, whole);
    return linear(whole, w, bias, e, {}, y);
  }
  const ChannelNorm channels = statistics(x, norm);
  for_strips(
      x.view({B, M, 1, K}), {.input = M, .output = M},
      [&](const Tensor& rows, int64_t b, Tensor& to) { normalize(rows, b, channels, norm.activation, to); },
      [&](const Tensor& strip, int64_t, int64_t, int64_t b, int64_t first, int64_t last) {
        Tensor to = y.slice(0, b, b + 1).slice(1, first, last);
        linear(strip.view({1, last - first, strip.size(3)}), w, bias, part_of(e, b, first, last), {}, to);
      });
}

}  // namespace hearth::cpu
