#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/cpu/cpu_class.h"
#include "backends/cpu/products/rows.h"

namespace hearth::cpu {
namespace {

struct Axis {
  int64_t size, from, to;  // strides in elements
};

// The axes of a copy, outermost first in y's order; neighboring axes that are dense in both tensors are merged.
std::vector<Axis> merged_axes(const Tensor& x, const Tensor& y) {
  std::vector<Axis> axes;
  for (int i = 0; i < x.rank(); ++i)
    if (x.size(i) != 1) axes.push_back({x.size(i), x.stride(i), y.stride(i)});
  std::stable_sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.to > b.to; });
  std::vector<Axis> merged;
  for (const Axis& axis : axes) {
    if (!merged.empty() && merged.back().from == axis.from * axis.size && merged.back().to == axis.to * axis.size)
      merged.back() = {merged.back().size * axis.size, axis.from, axis.to};
    else merged.push_back(axis);
  }
  return merged;
}

// f(offset in x, offset in y) for index i over `axes`, the last axis fastest.
std::pair<int64_t, int64_t> offsets(const std::vector<Axis>& axes, int64_t i) {
  int64_t from = 0, to = 0;
  for (size_t a = axes.size(); a-- > 0; i /= axes[a].size) from += i % axes[a].size * axes[a].from, to += i % axes[a].size * axes[a].to;
  return {from, to};
}

// n elements with strides. Equal dtypes are copied as bits; others are converted through f32.
class Mover {
 public:
  Mover(const Kernels& kernels, const Tensor& x, const Tensor& y)
      : kernels_(kernels), x_(x), y_(y), from_(size_of(x.dtype())), to_(size_of(y.dtype())), same_(x.dtype() == y.dtype()) {}

  void row(int64_t from, int64_t to, int64_t n) const {  // dense on both sides
    const std::byte* source = x_.raw() + size_t(from) * from_;
    std::byte* target = y_.raw() + size_t(to) * to_;
    if (same_) {
      std::memcpy(target, source, size_t(n) * from_);
    } else if (y_.dtype() == DType::f32) {
      widened(kernels_, x_.dtype(), source, n, reinterpret_cast<float*>(target));
    } else {
      alignas(64) float buffer[1024];
      for (int64_t i = 0; i < n; i += 1024) {
        const int64_t count = std::min<int64_t>(1024, n - i);
        narrowed(kernels_, widened(kernels_, x_.dtype(), source + size_t(i) * from_, count, buffer), count, y_.dtype(),
                 target + size_t(i) * to_);
      }
    }
  }
  void strided(int64_t from, int64_t to, const Axis& axis) const {
    for (int64_t i = 0; i < axis.size; ++i) row(from + i * axis.from, to + i * axis.to, 1);
  }

 private:
  const Kernels& kernels_;
  const Tensor &x_, &y_;
  size_t from_, to_;
  bool same_;
};

constexpr int64_t grain = 32768;  // elements per piece of work

}  // namespace

void CpuBackend::fill(Tensor& y, float value) {
  const auto with = [&](auto v) {
    pool_.for_ranges(y.numel(), grain, [&](int64_t begin, int64_t end) { std::fill_n(y.data<decltype(v)>() + begin, end - begin, v); });
  };
  switch (y.dtype()) {
    case DType::f32: return with(value);
    case DType::f16: return with(f32_to_f16(value));
    case DType::bf16: return with(f32_to_bf16(value));
    case DType::f64: return with(double(value));
    default:
      if (value != 0) fail<UnsupportedError>("fill: a tensor of {} cannot be filled with {}, expected 0", name_of(y.dtype()), value);
      pool_.run(1, [&](int64_t) { std::memset(y.raw(), 0, y.bytes()); });
  }
}

void CpuBackend::copy(const Tensor& x, Tensor& y) {
  if (is_blocked(x.dtype())) {  // copied unchanged
    pool_.for_ranges(int64_t(x.bytes()), 1 << 20,
                     [&](int64_t begin, int64_t end) { std::memcpy(y.raw() + begin, x.raw() + begin, size_t(end - begin)); });
    return;
  }
  if (y.dtype() == DType::q8_0) {
    pool_.for_ranges(x.numel(), 4096, [&](int64_t begin, int64_t end) {
      kernels_.encode_q8_0(x.data<float>() + begin, end - begin, y.raw() + bytes_of(y.dtype(), begin));
    });
    return;
  }
  if (x.numel() == 0) return;
  std::vector<Axis> axes = merged_axes(x, y);
  const Mover mover(kernels_, x, y);
  if (axes.empty()) return pool_.run(1, [&](int64_t) { mover.row(0, 0, 1); });

  const Axis inner = axes.back();
  if (inner.from == 1 && inner.to == 1) {
    axes.pop_back();
    const int64_t rows = x.numel() / inner.size, pieces = std::max<int64_t>(1, inner.size / grain),
                  together = std::max<int64_t>(1, grain / inner.size);
    if (pieces > 1) {
      pool_.run(rows * pieces, [&](int64_t i) {
        const auto [from, to] = offsets(axes, i / pieces);
        const int64_t begin = inner.size * (i % pieces) / pieces, end = inner.size * (i % pieces + 1) / pieces;
        mover.row(from + begin, to + begin, end - begin);
      });
    } else {
      pool_.for_ranges(rows, together, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          const auto [from, to] = offsets(axes, r);
          mover.row(from, to, inner.size);
        }
      });
    }
    return;
  }

  // y's fastest axis is another than x's: a transpose of these two axes, in strips of rows of x.
  const auto dense = std::find_if(axes.begin(), axes.end(), [](const Axis& a) { return a.from == 1; });
  if (inner.to == 1 && dense != axes.end() && x.dtype() == DType::f32 && y.dtype() == DType::f32) {
    const Axis columns = *dense;
    axes.pop_back();
    axes.erase(dense);
    constexpr int64_t block = 64;
    const int64_t planes = x.numel() / (inner.size * columns.size), strips = (inner.size + block - 1) / block;
    pool_.run(planes * strips, [&](int64_t i) {
      const auto [from, to] = offsets(axes, i / strips);
      const int64_t r0 = i % strips * block, rows = std::min(block, inner.size - r0);
      for (int64_t c0 = 0; c0 < columns.size; c0 += block)
        kernels_.transpose(x.data<float>() + from + r0 * inner.from + c0, inner.from, rows, std::min(block, columns.size - c0), 1,
                           y.data<float>() + to + r0 + c0 * columns.to, columns.to);
    });
    return;
  }

  axes.pop_back();
  pool_.for_ranges(x.numel() / inner.size, std::max<int64_t>(1, grain / inner.size), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const auto [from, to] = offsets(axes, r);
      mover.strided(from, to, inner);
    }
  });
}

void CpuBackend::resize_nearest(const Tensor& x, Tensor& y) {
  const int64_t H = x.size(1), W = x.size(2), C = x.size(3), rows = y.size(1), columns = y.size(2);
  // torch computes the ratio and the product in f32.
  const auto source = [](int64_t i, int64_t from, int64_t to) { return std::min(int64_t(float(i) * (float(from) / float(to))), from - 1); };
  const Mover mover(kernels_, x, y);
  pool_.run(y.size(0) * rows, [&](int64_t i) {
    const int64_t from = (i / rows * H + source(i % rows, H, rows)) * W;
    for (int64_t column = 0; column < columns; ++column) mover.row((from + source(column, W, columns)) * C, (i * columns + column) * C, C);
  });
}

void CpuBackend::embedding(const Tensor& ids, const Tensor& table, Tensor& y) {
  const int64_t C = table.size(1);
  if (is_blocked(table.dtype())) {
    pool_.run(ids.numel(), [&](int64_t i) {
      const int64_t id = ids.data<int32_t>()[i];
      kernels_.widen_row(*row_type(table.dtype()), table.raw() + bytes_of(table.dtype(), id * C), C, y.data<float>() + i * C);
    });
    return;
  }
  const Mover mover(kernels_, table, y);
  pool_.for_ranges(ids.numel(), std::max<int64_t>(1, grain / C), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) mover.row(ids.data<int32_t>()[i] * C, i * C, C);
  });
}

}  // namespace hearth::cpu
