#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "backends/cpu/cpu_class.h"
#include "backends/cpu/products/bf16.h"
#include "backends/cpu/whole_units.h"
#include "core/memory.h"

namespace hearth::cpu {
namespace {

constexpr int64_t right_panels = 6;  // per piece of work: a chunk of k of them stays in L2 while rows of the left side are multiplied
constexpr int64_t most_blocks = 8;   // of rows

}  // namespace

int64_t DenseBf16Rows::runs(int64_t row, int64_t, int64_t k0, int64_t k1, uint16_t*, Bf16Run* out) const {
  const uint16_t* from = x_ + row * stride_ + k0;
  *out = {.half = {from, from + 16 * stride_}, .stride = {stride_, stride_}, .length = k1 - k0};
  return 1;
}

void Bf16Store::store(const float* block, int64_t row, int64_t rows, int64_t p) const {
  const int64_t halves = side_by_side() || !w_.wide(p) ? 1 : 2;
  for (int64_t half = 0; half < halves; ++half) {
    const int64_t panel = side_by_side() ? p : 2 * p + half, width = side_by_side() ? bf16_panel : bf16_panel / 2;
    if (panel >= own_.panels()) break;
    for (int64_t r = 0; r < rows; r += max_tile_rows)
      store_.store(block + half * bf16_rows * width + r * width, row + r, std::min(max_tile_rows, rows - r), panel);
  }
}

void CpuBackend::product_bf16(const Bf16Rows& left, int64_t rows, int64_t image_rows, int64_t first_row, const Bf16Weight& w,
                              const Tensor& bias, const Epilogue& e, Tensor& y) {
  const Bf16Kernels& bf16 = *kernels_.bf16;
  int64_t height = most_blocks, panels_each = right_panels;
  const auto pieces = [&] { return parts(rows, height * bf16_rows) * parts(w.panels(), panels_each); };
  while (pieces() < 6 * pool_.size() && panels_each > 2) panels_each = (panels_each + 1) / 2;
  while (pieces() < 6 * pool_.size() && height > 1) height = (height + 1) / 2;
  const int64_t row_pieces = parts(rows, height * bf16_rows), panel_pieces = parts(w.panels(), panels_each);

  const Bf16Store store(kernels_, w, bias, e, image_rows, y);
  pool_.run(row_pieces * panel_pieces, [&](int64_t piece) {
    const int64_t i = piece % row_pieces, j = piece / row_pieces;  // neighboring pieces share the right side
    const int64_t blocks = parts(rows, bf16_rows), block0 = blocks * i / row_pieces, block1 = blocks * (i + 1) / row_pieces;
    const int64_t panel0 = w.panels() * j / panel_pieces, panel1 = w.panels() * (j + 1) / panel_pieces, panels = panel1 - panel0;
    const bool one_chunk = w.k <= bf16_chunk;
    const int64_t sums_size = (one_chunk ? 1 : (block1 - block0) * panels) * bf16_block;
    float* sums = thread_scratch(size_t(sums_size + bf16_rows * bf16_chunk / 2));
    auto* const room = reinterpret_cast<uint16_t*>(sums + sums_size);
    std::array<Bf16Run, bf16_most_runs> runs;

    bf16.begin();
    for (int64_t k0 = 0; k0 < w.k; k0 += bf16_chunk) {
      const int64_t k1 = std::min(w.k, k0 + bf16_chunk);
      for (int64_t block = block0; block < block1; ++block) {
        const int64_t row = block * bf16_rows, count = std::min(bf16_rows, rows - row);
        const int64_t run_count = left.runs(row, count, k0, k1, room, runs.data());
        for (int64_t p = panel0; p < panel1; ++p) {
          float* sum = one_chunk ? sums : sums + ((block - block0) * panels + p - panel0) * bf16_block;
          bf16.block(count, w.wide(p), runs.data(), run_count, w.at(p, k0), store.sums(sum), k0 > 0);
          if (k1 == w.k) store.store(sum, first_row + row, count, p);
        }
      }
    }
    bf16.end();
  });
}

void CpuBackend::dense_bf16(int64_t rows, int64_t image_rows, const Bf16Weight& w, const Tensor& bias, const Epilogue& e, Tensor& y,
                            const std::function<void(int64_t row, uint16_t* to)>& fill) {
  // Rows at multiples of 1 KiB would fall into few cache sets.
  const int64_t stride = w.k % 512 == 0 ? w.k + 32 : w.k;
  const int64_t strips = parts(rows * w.k * int64_t(sizeof(uint16_t)), bf16_strip_bytes);
  const int64_t most = parts(parts(rows, strips), bf16_rows) * bf16_rows;
  const auto memory = memory_->allocate(size_t((most + bf16_rows) * stride) * sizeof(uint16_t));  // a block reads whole halves
  auto* const left = reinterpret_cast<uint16_t*>(memory.get());
  for (int64_t row = 0; row < rows; row += most) {
    const int64_t own = std::min(most, rows - row);
    pool_.for_ranges(own, std::max<int64_t>(1, 16384 / w.k), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) fill(row + r, left + r * stride);
    });
    product_bf16(DenseBf16Rows(left, stride), own, image_rows, row, w, bias, e, y);
  }
}

void CpuBackend::linear_bf16(const Tensor& x, const Bf16Weight& w, const Tensor& bias, const Epilogue& e, Tensor& y) {
  const auto [B, M, K] = x.dims<3>();
  dense_bf16(B * M, M, w, bias, e, y, [&, K = K](int64_t row, uint16_t* to) {
    round_to_bf16(x, row * K, K, to);
    std::fill(to + K, to + w.k, uint16_t(0));
  });
}

void CpuBackend::round_to_bf16(const Tensor& x, int64_t begin, int64_t n, uint16_t* to) {
  const std::byte* from = x.raw() + size_t(begin) * size_of(x.dtype());
  if (x.dtype() == DType::f32) kernels_.round_bf16(reinterpret_cast<const float*>(from), n, to);
  else if (x.dtype() == DType::bf16) std::memcpy(to, from, size_t(n) * sizeof(uint16_t));
  else {
    constexpr int64_t part = 1024;
    alignas(64) float wide[part];
    for (int64_t i = 0; i < n; i += part)
      kernels_.round_bf16(widened(kernels_, x.dtype(), from + size_t(i) * size_of(x.dtype()), std::min(part, n - i), wide),
                          std::min(part, n - i), to + i);
  }
}

}  // namespace hearth::cpu
