#include <algorithm>

#include "backends/cpu/cpu_class.h"
#include "backends/cpu/products/bf16.h"
#include "backends/cpu/products/rows.h"
#include "backends/cpu/shares.h"
#include "backends/cpu/whole_units.h"

namespace hearth::cpu {
namespace {

constexpr int64_t chunk = bf16_chunk;  // of k, whole blocks of every type: it stays in L1 or L2, for a panel of w, while x is multiplied
constexpr int64_t most_rows = 512;     // rows of x per pairing of w

}  // namespace

Tensor CpuBackend::rounded_to_bf16(const Tensor& x) {
  Tensor rounded = Tensor::empty(*this, x.shape(), DType::f32);
  pool_.for_ranges(x.numel(), 4096, [&](int64_t begin, int64_t end) {
    auto* const bits = reinterpret_cast<uint16_t*>(thread_scratch(4096));
    kernels_.round_bf16(x.data<float>() + begin, end - begin, bits);
    kernels_.widen_row(row_bf16, bits, end - begin, rounded.data<float>() + begin);
  });
  return rounded;
}

void CpuBackend::linear_rows_bf16(const Tensor& x, const Weight& weight, const Tensor& bias, const Epilogue& e, Tensor& y) {
  const RowsWeight& w = rows_of(weight);
  const Bf16Kernels& bf16 = *kernels_.bf16;
  const int64_t M = x.size(0) * x.size(1), N = w.rows.size(0), K = w.rows.size(1), padded = parts(K, bf16.depth) * bf16.depth;
  const Panels panels{N, bf16_panel, false};
  const Bf16Store store(kernels_, panels, weight, bias, e, x.size(1), y);
  const bool compact = is_compact(w.rows.dtype());
  const auto row_of_w = [&](int64_t n, int64_t k) {
    return w.rows.raw() + n * int64_t(bytes_of(w.rows.dtype(), K)) + bytes_of(w.rows.dtype(), k);
  };

  const int64_t strips = parts(M, most_rows), most = parts(M, strips);
  const int64_t stride = padded % 512 == 0 ? padded + 32 : padded;  // rows 1 KiB apart would fall into few cache sets
  const auto memory = memory_->allocate(size_t((most + bf16_rows) * stride) * sizeof(uint16_t));  // a block reads whole halves
  auto* const left = reinterpret_cast<uint16_t*>(memory.get());
  for (int64_t strip = 0; strip < strips; ++strip) {
    const int64_t row0 = M * strip / strips, rows = M * (strip + 1) / strips - row0, blocks = parts(rows, bf16_rows);
    pool_.run(rows, [&](int64_t r) {
      kernels_.round_bf16(x.data<float>() + (row0 + r) * K, K, left + r * stride);
      std::fill(left + r * stride + K, left + r * stride + padded, uint16_t(0));
    });
    for_shares(pool_, panels.panels(), 1, [&](int64_t p, int64_t) {
      constexpr int64_t words = chunk * bf16_panel / 2;  // size of a panel's chunk, in f32 values
      float* const sums = thread_scratch(size_t(blocks * bf16_block + words + (compact ? words + chunk : 0)));
      auto* const pairs = reinterpret_cast<uint16_t*>(sums + blocks * bf16_block);
      uint16_t* const rounded = pairs + chunk * bf16_panel;  // rows of w that are not stored as bf16
      auto* const wide = reinterpret_cast<float*>(rounded + chunk * bf16_panel);
      bf16.begin();
      for (int64_t k0 = 0; k0 < K; k0 += chunk) {
        const int64_t count = std::min(chunk, K - k0), depth = std::min(chunk, padded - k0), columns = panels.columns_of(p);
        for (int64_t n = 0; compact && n < columns; ++n) {
          kernels_.widen_row(w.type, row_of_w(p * bf16_panel + n, k0), count, wide);
          kernels_.round_bf16(wide, count, rounded + n * chunk);
        }
        const void* const paired = compact ? static_cast<const void*>(rounded) : row_of_w(p * bf16_panel, k0);
        kernels_.pair_rows(paired, compact ? chunk : K, columns, count, panels.width_of(p), depth, pairs);
        // Prefetches what is paired next, some rows with each block: the next chunk of these, or the first of the next rows.
        const bool last = k0 + chunk >= K;
        const int64_t next = (last ? p + 1 : p) * bf16_panel, next_rows = std::clamp<int64_t>(N - next, 0, bf16_panel);
        const int64_t next_k = last ? 0 : k0 + chunk, next_bytes = int64_t(bytes_of(w.rows.dtype(), std::min(chunk, K - next_k)));
        for (int64_t b = 0; b < blocks; ++b) {
          for (int64_t n = next_rows * b / blocks; n < next_rows * (b + 1) / blocks; ++n)
            for (int64_t byte = 0; byte < next_bytes; byte += 64) __builtin_prefetch(row_of_w(next + n, next_k) + byte, 0, 2);
          const int64_t row = b * bf16_rows, own = std::min(bf16_rows, rows - row);
          const uint16_t* const from = left + row * stride + k0;
          const Bf16Run run{.half = {from, from + 16 * stride}, .stride = {stride, stride}, .length = depth};
          bf16.block(own, panels.wide(p), &run, 1, pairs, store.sums(sums + b * bf16_block), k0 > 0);
          if (last) store.store(sums + b * bf16_block, row0 + row, own, p);
        }
      }
      bf16.end();
    });
  }
}

}  // namespace hearth::cpu
