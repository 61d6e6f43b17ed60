#include "backends/reference/reference_class.h"
#include "core/blocks.h"

namespace hearth::reference {

void ReferenceBackend::copy(const Tensor& x, Tensor& y) {
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

void ReferenceBackend::embedding(const Tensor& ids, const Tensor& table, Tensor& y) {
  const int64_t C = table.size(1);
  if (is_blocked(table.dtype())) {
    for (int64_t i = 0; i < ids.numel(); ++i) {
      const int64_t id = ids.data<int32_t>()[i];
      decode_blocks(table.dtype(), table.slice(0, id, id + 1).raw(), C, y.data<float>() + i * C);
    }
    return;
  }
  for (int64_t i = 0; i < y.numel(); ++i) put(y, i, at(table, ids.data<int32_t>()[i / C] * C + i % C));
}

}  // namespace hearth::reference
