#include <cstring>

#include "backends/reference/reference_class.h"
#include "core/blocks.h"

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
      if (value != 0) fail<UnsupportedError>("fill: {} cannot be filled with {}", name_of(y.dtype()), value);
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
  const int axes = x.rank() - 2;
  std::array<int64_t, 3> in{1, 1, 1}, out{1, 1, 1};
  std::array<PoolSpec::Axis, 3> windows{};
  for (int i = 0; i < axes; ++i) {
    const auto at = size_t(3 - axes + i);
    in[at] = x.size(1 + i), out[at] = y.size(1 + i), windows[at] = spec.axis(i, axes);
  }
  const int64_t C = x.size(-1), positions = out[0] * out[1] * out[2], taps = windows[0].size * windows[1].size * windows[2].size;
  pool_.run(y.size(0) * positions, [&](int64_t p) {
    const int64_t b = p / positions, place = p % positions;
    const std::array<int64_t, 3> at_out{place / (out[1] * out[2]), place / out[2] % out[1], place % out[2]};
    for (int64_t c = 0; c < C; ++c) {
      double sum = 0, largest = -INFINITY;
      for (int64_t tap = 0; tap < taps; ++tap) {
        const std::array<int64_t, 3> of{tap / (windows[1].size * windows[2].size), tap / windows[2].size % windows[1].size,
                                        tap % windows[2].size};
        int64_t from = b;
        bool inside = true;
        for (size_t i = 0; i < 3; ++i) {
          const int64_t q = at_out[i] * windows[i].stride + of[i] - windows[i].before;
          inside = inside && q >= 0 && q < in[i];
          from = from * in[i] + q;
        }
        if (!inside) continue;
        const double value = at(x, from * C + c);
        sum += value;
        largest = std::isnan(value) || value > largest ? value : largest;
      }
      put(y, p * C + c, spec.kind == PoolSpec::Kind::average ? sum / double(taps) : largest);
    }
  });
}

}  // namespace hearth::reference
