#include <cstring>

#include "backends/reference/reference_class.h"
#include "core/axes.h"
#include "core/quantized/blocks.h"

namespace hearth::reference {

void ReferenceBackend::fill(Tensor& y, float value) {
  switch (y.dtype()) {
    case DType::f32:
    case DType::f16:
    case DType::bf16:
      for (int64_t i = 0; i < y.numel(); ++i) put(y, i, double(value));
      break;
    case DType::f64: std::fill_n(y.data<double>(), y.numel(), double(value)); break;
    default:
      if (value != 0) fail<UnsupportedError>("fill: a tensor of {} cannot be filled with {}, expected 0", name_of(y.dtype()), value);
      if (y.bytes() > 0) std::memset(y.raw(), 0, y.bytes());
  }
}

void ReferenceBackend::copy(const Tensor& x, Tensor& y) {
  if (x.dtype() == y.dtype() && x.contiguous() && y.contiguous()) {
    if (x.bytes() > 0) std::memcpy(y.raw(), x.raw(), x.bytes());
    return;
  }
  if (y.dtype() == DType::q8_0) return encode_blocks(y.dtype(), x.data<float>(), x.numel(), y.raw());
  std::array<int64_t, Shape::max_rank> index{};
  int64_t from = 0, to = 0;
  for (int64_t i = 0, n = x.numel(); i < n; ++i) {
    put(y, to, at(x, from));
    for (int axis = x.rank() - 1; axis >= 0; --axis) {
      from += x.stride(axis), to += y.stride(axis);
      if (++index[size_t(axis)] < x.size(axis)) break;
      from -= x.stride(axis) * x.size(axis), to -= y.stride(axis) * x.size(axis);
      index[size_t(axis)] = 0;
    }
  }
}

void ReferenceBackend::resize_nearest(const Tensor& x, Tensor& y) {
  const int64_t H = x.size(1), W = x.size(2), C = x.size(3), rows = y.size(1), columns = y.size(2);
  // torch computes the ratio and the product in f32.
  const auto source = [](int64_t i, int64_t from, int64_t to) { return std::min(int64_t(float(i) * (float(from) / float(to))), from - 1); };
  for (int64_t position = 0; position < y.size(0) * rows * columns; ++position) {
    const int64_t b = position / (rows * columns), iy = source(position / columns % rows, H, rows),
                  ix = source(position % columns, W, columns);
    for (int64_t c = 0; c < C; ++c) put(y, position * C + c, at(x, ((b * H + iy) * W + ix) * C + c));
  }
}

void ReferenceBackend::pool(const Tensor& x, const PoolSpec& spec, Tensor& y) {
  const PoolAxes axes(x, spec, y);
  const int64_t C = x.size(-1), positions = count_of(axes.out), taps = count_of(axes.taps);
  pool_.run(y.size(0) * positions, [&](int64_t p) {
    const Position place = position_of(p % positions, axes.out);
    for (int64_t c = 0; c < C; ++c) {
      double sum = 0, largest = -INFINITY;
      for (int64_t tap = 0; tap < taps; ++tap) {
        Position from = position_of(tap, axes.taps);
        bool inside = true;
        for (size_t i = 0; i < 3; ++i) {
          from[i] += place[i] * axes.window[i].stride - axes.window[i].before;
          inside = inside && from[i] >= 0 && from[i] < axes.in[i];
        }
        if (!inside) continue;
        const double value = at(x, (p / positions * count_of(axes.in) + index_of(from, axes.in)) * C + c);
        sum += value;
        largest = std::isnan(value) || value > largest ? value : largest;
      }
      put(y, p * C + c, spec.kind == PoolSpec::Kind::average ? sum / double(taps) : largest);
    }
  });
}

}  // namespace hearth::reference
