#include "backends/cpu/products/product.h"

#include <algorithm>
#include <array>

#include "backends/cpu/cpu_class.h"
#include "backends/cpu/whole_units.h"

namespace hearth::cpu {
namespace {

// Sizes of a piece of work: the block of the right side (panels × chunk) stays in L2 while tiles of the left side are multiplied.
constexpr int64_t right_block = 131072;  // floats
constexpr int64_t most_tiles = 32;       // tiles of rows

struct Blocking {
  int64_t row_blocks, panel_blocks;
};

Blocking blocking(int64_t rows, const PackedWeight& w, int64_t tile_rows, int64_t threads) {
  const int64_t depth = std::min(w.k, product_chunk), tiles = parts(rows, tile_rows);
  int64_t panels = std::max<int64_t>(1, right_block / (depth * w.panel)), height = most_tiles;
  const auto pieces = [&] { return parts(tiles, height) * parts(w.panels(), panels); };
  while (pieces() < 6 * threads && panels > 2) panels = (panels + 1) / 2;
  while (pieces() < 6 * threads && height > 4) height = (height + 1) / 2;
  return {parts(tiles, height), parts(w.panels(), panels)};
}

}  // namespace

void TileStore::fetch(int64_t row, int64_t rows, int64_t p) const {
  const auto lines = [&](const Tensor& t, auto write) {
    const size_t width = size_of(t.dtype());
    for (int64_t r = 0; r < rows; ++r)
      for (size_t byte = 0; byte < size_t(w_.columns_of(p)) * width; byte += 64)
        __builtin_prefetch(t.raw() + size_t((row + r) * y_.size(-1) + first_ + w_.column(p)) * width + byte, decltype(write)::value);
  };
  lines(y_, std::true_type{});
  if (e_.residual) lines(e_.residual, std::false_type{});
}

void TileStore::store(const float* acc, int64_t row, int64_t rows, int64_t p) const {
  store(acc, row, rows, w_.column(p), w_.columns_of(p));
}

void TileStore::store(const float* acc, int64_t row, int64_t rows, int64_t column, int64_t columns) const {
  const int64_t panel = w_.panel, stride = y_.size(-1), own = first_ + column;
  const auto at = [&](const Tensor& t, int64_t r) { return t.raw() + size_t((row + r) * stride + own) * size_of(t.dtype()); };
  // Values of per_image or gate for the image of row r.
  const auto image = [&](const Tensor& t, int64_t r) { return t.data<float>() + (row + r) / image_rows_ * t.size(1) + own; };
  std::array<const float*, max_tile_rows> per_image, factor;
  alignas(64) std::array<float, most_stored> residual, rounded;
  TileEpilogue t{.alpha = e_.alpha, .activation = act_of(e_.activation), .gates = w_.gated ? w_.outputs() : 0};
  if (scale_ && scale_.numel() == 1) t.alpha *= *scale_.data<float>();
  else if (scale_) t.scale = scale_.data<float>() + own;
  if (bias_) t.bias = bias_.data<float>() + own;
  if (e_.per_image) {
    for (int64_t r = 0; r < rows; ++r) per_image[size_t(r)] = image(e_.per_image, r);
    t.per_image = per_image.data();
  }
  if (e_.addend) {
    for (int64_t r = 0; r < rows; ++r) per_image[size_t(r)] = e_.addend.data<float>() + (row + r) * e_.addend.size(-1) + own;
    t.per_image = per_image.data();
  }
  if (e_.gate) {
    for (int64_t r = 0; r < rows; ++r) factor[size_t(r)] = image(e_.gate, r);
    t.factor = factor.data();
  }
  if (e_.residual && e_.residual.dtype() == DType::f32) {
    t.residual = reinterpret_cast<const float*>(at(e_.residual, 0));
    t.residual_stride = stride;
  } else if (e_.residual) {
    for (int64_t r = 0; r < rows; ++r) widened(kernels_, e_.residual.dtype(), at(e_.residual, r), columns, residual.data() + r * panel);
    t.residual = residual.data();
    t.residual_stride = panel;
  }
  const bool direct = y_.dtype() == DType::f32;
  t.y = direct ? reinterpret_cast<float*>(at(y_, 0)) : rounded.data();
  t.y_stride = direct ? stride : panel;
  kernels_.epilogue(acc, rows, columns, t);
  if (direct) return;
  for (int64_t r = 0; r < rows; ++r) narrowed(kernels_, t.y + r * panel, columns, y_.dtype(), at(y_, r));
}

void CpuBackend::product(const LeftRows& left, int64_t rows, int64_t image_rows, const PackedWeight& w, const Tensor& bias,
                         const Epilogue& e, Tensor& y, int64_t first_column) {
  const Kernels& kernel = kernels_;
  const int64_t panel = kernel.panel, tile_size = kernel.tile_rows * panel;
  const auto [row_blocks, panel_blocks] = blocking(rows, w, kernel.tile_rows, pool_.size());
  const bool widen = w.dtype != DType::f32;
  const int64_t depth = std::min(w.k, product_chunk);

  const TileStore store(kernel, w.n, w.gated, bias, e, image_rows, y, first_column);

  pool_.run(row_blocks * panel_blocks, [&, row_blocks = row_blocks, panel_blocks = panel_blocks](int64_t piece) {
    // Neighboring pieces share the right side.
    const int64_t i = piece % row_blocks, j = piece / row_blocks;
    const int64_t row0 = rows * i / row_blocks, row1 = rows * (i + 1) / row_blocks;
    const int64_t panel0 = w.panels() * j / panel_blocks, panel1 = w.panels() * (j + 1) / panel_blocks;
    const int64_t tiles = (row1 - row0 + kernel.tile_rows - 1) / kernel.tile_rows, panels = panel1 - panel0;
    const bool one_chunk = w.k <= product_chunk;

    const int64_t right_size = widen ? panels * depth * panel : 0;
    float* right = thread_scratch(size_t(right_size + (one_chunk ? 1 : tiles * panels) * tile_size));
    float* sums = right + right_size;
    std::array<Segment, most_runs> segments;

    for (int64_t k0 = 0; k0 < w.k; k0 += product_chunk) {
      const int64_t k1 = std::min(w.k, k0 + product_chunk);
      const auto block = [&](int64_t p) { return right + (p - panel0) * depth * panel; };
      if (widen)
        for (int64_t p = panel0; p < panel1; ++p) widened(kernel, w.dtype, w.at(p, k0), (k1 - k0) * w.width_of(p), block(p));
      for (int64_t t = 0; t < tiles; ++t) {
        const int64_t row = row0 + (row1 - row0) * t / tiles, count = row0 + (row1 - row0) * (t + 1) / tiles - row;
        const int64_t runs = left.segments(row, count, k0, k1, segments.data());
        for (int64_t p = panel0; p < panel1; ++p) {
          float* sum = one_chunk ? sums : sums + (t * panels + p - panel0) * tile_size;
          const float* b = widen ? block(p) : reinterpret_cast<const float*>(w.at(p, k0));
          if (k1 == w.k) store.fetch(row, count, p);
          kernel.tile(count, w.wide(p), segments.data(), runs, b, sum, k0 > 0);
          if (k1 == w.k) store.store(sum, row, count, p);
        }
      }
    }
  });
}

}  // namespace hearth::cpu
