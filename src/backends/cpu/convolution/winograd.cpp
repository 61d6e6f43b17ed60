#include <algorithm>

#include "backends/cpu/convolution/windows.h"
#include "backends/cpu/cpu_class.h"
#include "backends/cpu/products/product.h"
#include "backends/cpu/whole_units.h"

// 3×3 convolutions of stride 1, also over several frames, by F(4×4, 3×3): a quarter of the multiplications. A patch of 6×6 pixels is
// transformed to 36 points; for each point, patches and channels form an ordinary product; 36 sums are transformed to 4×4 outputs. Weights
// stay packed as for the direct product (and 16-bit if held so) and are transformed on use: stored transformed, they would need four
// times the memory.
namespace hearth::cpu {
namespace {

constexpr int64_t points = 36, side = 4;
constexpr int64_t most_depth = 128;                   // channels of a chunk: the last transform magnifies the errors of long sums
constexpr int64_t patches_bytes = int64_t(16) << 20;  // transformed patches of one block
constexpr int64_t group_columns = 64;                 // columns of the output per piece of work
constexpr int64_t line = 16;   // floats added to strides, so that they are not multiples of a page and fall into different cache sets
constexpr int64_t strip = 64;  // channels whose weights are widened at a time

}  // namespace

void CpuBackend::winograd(const Windows& windows, const PackedWeight& w, const Tensor& bias, const Epilogue& e, Tensor& y) {
  const Kernels& kernel = kernels_;
  const ConvAxes& axes = windows.axes;
  const int64_t frames = axes.out[0], H = axes.out[1], width = axes.out[2];
  const int64_t C = windows.channels, panel = kernel.panel, layers = axes.taps[0], all = layers * C;  // layers: frames under the kernel
  const int64_t down = parts(H, side), across = parts(width, side), patches = y.size(0) * frames * down * across;
  const TileStore store(kernel, w.n, false, bias, e, axes.positions(), y);
  struct Patch {
    int64_t frame, row, column;  // of its first output; frames are counted over all images
  };
  const auto patch_at = [&](int64_t i) { return Patch{i / (down * across), i / across % down * side, i % across * side}; };

  const int64_t blocks = parts(patches, std::clamp<int64_t>(patches_bytes / (points * all * 4), 28, 512)), most = parts(patches, blocks);
  const int64_t point_stride = most * all + line;
  const auto memory = memory_->allocate(size_t(points * point_stride) * sizeof(float));
  auto* const transformed = reinterpret_cast<float*>(memory.get());                       // [point][patch][layer][C]
  const int64_t chunks = parts(C, most_depth), depth = parts(parts(C, chunks), 16) * 16;  // chunks and depth of C alone
  const int64_t group = std::min(w.panels(), group_columns / panel), groups = parts(w.panels(), group);

  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t first = patches * block / blocks, count = patches * (block + 1) / blocks - first;
    pool_.for_ranges(count, 4, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Patch patch = patch_at(first + i);
        for (int64_t layer = 0; layer < layers; ++layer) {
          const int64_t frame = patch.frame % frames * axes.spec[0].stride + layer * axes.spec[0].dilation;
          const float* pixels[points];
          for (int64_t r = 0; r < 6; ++r)
            for (int64_t c = 0; c < 6; ++c) pixels[6 * r + c] = windows.pixel(patch.frame / frames, frame, patch.row + r, patch.column + c);
          kernel.winograd_input(pixels, C, transformed + i * all + layer * C, point_stride);
        }
      }
    });

    int64_t pieces = parts(count, 128);
    while (groups * pieces < 6 * pool_.size() && count / pieces >= 56) ++pieces;
    pool_.run(groups * pieces, [&](int64_t piece) {
      const int64_t panel0 = piece / pieces * group, panel1 = std::min(w.panels(), panel0 + group), panels = panel1 - panel0;
      const int64_t patch0 = count * (piece % pieces) / pieces, patch1 = count * (piece % pieces + 1) / pieces, own = patch1 - patch0;
      const int64_t weight_stride = depth * panel + line, sum_stride = own * panel + line, wide_stride = strip * panel + line;
      float* weights = thread_scratch(size_t(panels * points * (weight_stride + sum_stride) + 9 * wide_stride + side * side * panel));
      float* sums = weights + panels * points * weight_stride;  // [panel][point][patch][panel]
      float* wide = sums + panels * points * sum_stride;
      float* out = wide + 9 * wide_stride;
      const auto weights_of = [&](int64_t p, int64_t point) { return weights + ((p - panel0) * points + point) * weight_stride; };
      const auto sums_of = [&](int64_t p, int64_t point) { return sums + ((p - panel0) * points + point) * sum_stride; };

      for (int64_t chunk = 0; chunk < layers * chunks; ++chunk) {
        const int64_t c0 = chunk % chunks * depth, c1 = std::min(C, c0 + depth), layer = chunk / chunks;
        const int64_t first_row = layer * 9 * C;  // of the weight
        for (int64_t p = panel0; p < panel1; ++p) {
          const int64_t columns = w.width_of(p);
          for (int64_t c = c0; c < c1; c += strip) {
            const int64_t n = (std::min(c1, c + strip) - c) * columns;
            const float* taps = reinterpret_cast<const float*>(w.at(p, first_row + c));
            int64_t tap_stride = C * columns;
            if (w.dtype != DType::f32) {
              for (int64_t tap = 0; tap < 9; ++tap) widened(kernel, w.dtype, w.at(p, first_row + tap * C + c), n, wide + tap * wide_stride);
              taps = wide, tap_stride = wide_stride;
            }
            kernel.winograd_weight(taps, tap_stride, n, weights_of(p, 0) + (c - c0) * columns, weight_stride);
          }
        }
        // Few enough patches at a time that a point's rows stay in L2 from panel to panel.
        const int64_t tiles = parts(own, kernel.tile_rows), together = 4;
        Segment segment;
        segment.length = c1 - c0;
        for (int64_t t0 = 0; t0 < tiles; t0 += together)
          for (int64_t point = 0; point < points; ++point)
            for (int64_t p = panel0; p < panel1; ++p)
              for (int64_t t = t0; t < std::min(tiles, t0 + together); ++t) {
                const int64_t row = own * t / tiles, rows = own * (t + 1) / tiles - row;
                for (int64_t r = 0; r < rows; ++r)
                  segment.row[r] = transformed + point * point_stride + (patch0 + row + r) * all + layer * C + c0;
                kernel.tile(rows, w.wide(p), &segment, 1, weights_of(p, point), sums_of(p, point) + row * panel, chunk > 0);
              }
      }

      for (int64_t i = 0; i < own; ++i) {
        const Patch patch = patch_at(first + patch0 + i);
        const int64_t rows = std::min(side, H - patch.row), columns = std::min(side, width - patch.column);
        for (int64_t p = panel0; p < panel1; ++p) {
          const auto row_of = [&](int64_t r) { return (patch.frame * H + patch.row + r) * width + patch.column; };
          for (int64_t r = 0; r < rows; ++r) store.fetch(row_of(r), columns, p);
          kernel.winograd_output(sums_of(p, 0) + i * panel, sum_stride, w.wide(p), out);
          for (int64_t r = 0; r < rows; ++r) store.store(out + r * side * panel, row_of(r), columns, p);
        }
      }
    });
  }
}

}  // namespace hearth::cpu
