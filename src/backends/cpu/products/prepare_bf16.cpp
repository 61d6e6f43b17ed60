#include <cstring>

#include "backends/cpu/convolution/windows.h"
#include "backends/cpu/cpu_class.h"
#include "backends/cpu/products/bf16.h"
#include "backends/cpu/whole_units.h"

namespace hearth::cpu {
Bf16Depth::Bf16Depth(int64_t taps, int64_t in, int64_t unit) : gathered(taps > 1 && in < few_channels) {
  channels = gathered ? in : padded(in, unit);
  total = padded(taps * channels, unit);
}

Bf16Weight::Bf16Weight(int64_t rows, int64_t depth, bool glu) : CpuWeight(Layout::bf16_panels), Panels{rows, bf16_panel, glu}, k(depth) {
  const int64_t stored = n == 0 ? 0 : (panels() - 1) * bf16_panel + width_of(panels() - 1);
  bytes = std::max<size_t>(64, (size_t(stored * k) * sizeof(uint16_t) + 63) / 64 * 64);
}

// From checkpoint order (n, c, taps) to pairs of k = (taps, c).
std::shared_ptr<const PreparedWeight> CpuBackend::prepare_bf16(const Tensor& w, WeightKind kind) {
  const int64_t N = w.size(0), taps = taps_of(w.shape()), C = w.size(1);
  const Bf16Depth depth(taps, C, kernels_.bf16->depth);
  auto packed = std::make_shared<Bf16Weight>(N, depth.total, kind == WeightKind::glu);
  packed->data = memory_->allocate(packed->bytes);
  // The kernels' own panels, which the epilogue uses, may be narrower: values and gates alternate in each of these.
  const Panels own{N, kernels_.panel, packed->gated};
  // The row of w in column j of panel p; N if there is none.
  const auto row_of = [&](int64_t p, int64_t j) {
    if (!own.gated) return std::min(N, p * bf16_panel + j);
    const int64_t column = own.column((p * bf16_panel + j) / own.panel) + j % own.step();
    return column >= own.outputs() ? N : column + (j % own.panel < own.step() ? 0 : own.outputs());
  };
  pool_.run(packed->panels(), [&](int64_t p) {
    const int64_t width = packed->width_of(p);
    auto* const to = const_cast<uint16_t*>(packed->at(p, 0));
    if (packed->columns_of(p) < packed->step() || depth.total != taps * C)
      std::memset(to, 0, size_t(depth.total * width) * sizeof(uint16_t));
    if (taps == 1 && C % 2 == 0) {  // pairs are elements of 32 bits
      constexpr int64_t pairs = 256, stride = pairs + 16;
      auto* const rows = reinterpret_cast<uint32_t*>(thread_scratch(size_t(stride * bf16_panel)));
      for (int64_t c0 = 0; c0 < C; c0 += 2 * pairs) {
        const int64_t count = std::min(2 * pairs, C - c0);
        for (int64_t r = 0; r < width; ++r) {
          auto* const row = reinterpret_cast<uint16_t*>(rows + r * stride);
          if (row_of(p, r) == N) std::memset(row, 0, size_t(count) * sizeof(uint16_t));
          else round_to_bf16(w, row_of(p, r) * C + c0, count, row);
        }
        kernels_.transpose_32(rows, stride, width, count / 2, reinterpret_cast<uint32_t*>(to) + c0 / 2 * width, width);
      }
      return;
    }
    const int64_t slab = std::max<int64_t>(2, 512 / taps / 2 * 2);  // channels
    auto* const row = reinterpret_cast<uint16_t*>(thread_scratch(size_t(slab * taps)));
    for (int64_t c0 = 0; c0 < C; c0 += slab) {
      const int64_t c1 = std::min(C, c0 + slab);
      for (int64_t r = 0; r < width; ++r) {
        if (row_of(p, r) == N) continue;
        round_to_bf16(w, (row_of(p, r) * C + c0) * taps, (c1 - c0) * taps, row);
        for (int64_t tap = 0; tap < taps; ++tap) {
          const int64_t k0 = tap * depth.channels + c0, odd = k0 % 2, count = c1 - c0;
          uint16_t* pair = to + (k0 / 2 * width + r) * 2;
          const uint16_t* from = row + tap;
          if (odd) pair[1] = *from, pair += 2 * width, from += taps;
          const int64_t pairs = (count - odd) / 2;
          for (int64_t i = 0; i < pairs; ++i, from += 2 * taps) pair[2 * i * width] = from[0], pair[2 * i * width + 1] = from[taps];
          if ((count - odd) % 2) pair[2 * pairs * width] = *from;
        }
      }
    }
  });
  return packed;
}

}  // namespace hearth::cpu
