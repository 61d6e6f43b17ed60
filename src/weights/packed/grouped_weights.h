// Integers that share scales in groups of inputs, as a weight:
//
//   W[n, k] = scale(n, g) · (code(n, k) − zero(n, g)),  g = group[k]
//
// It has the same values, bit for bit, in the smallest of the block types q4_0, q5_0 and q8_0 that has all differences. It is f32 if no
// block type has the values: if groups are not runs of whole blocks of inputs (act-order), or if a scale is not representable in f16.
//
// A layer L has N, K and G (outputs, inputs, groups), group [K], least_code and most_code, and the three functions.
#pragma once

#include <algorithm>
#include <cstring>

#include "core/on_host.h"
#include "core/quantized/block_layouts.h"
#include "core/threads.h"

namespace hearth {

// Whether the inputs of every block of 32 have the same group.
template <class L> bool has_whole_blocks(const L& l) {
  if (l.K % 32 != 0) return false;
  for (int64_t k = 0; k < l.K; k += 32)
    if (std::any_of(l.group.begin() + k, l.group.begin() + k + 32, [&](int32_t g) { return g != l.group[size_t(k)]; })) return false;
  return true;
}

template <class L> DType grouped_dtype(const L& l) {
  if (!has_whole_blocks(l)) return DType::f32;
  int least = 0, most = 0;  // zero point
  for (int64_t n = 0; n < l.N; ++n)
    for (int64_t g = 0; g < l.G; ++g) {
      const int zero = l.zero(n, g);
      least = n + g == 0 ? zero : std::min(least, zero);
      most = n + g == 0 ? zero : std::max(most, zero);
      if (const float s = l.scale(n, g); f16_to_f32(f32_to_f16(s)) != s) return DType::f32;
    }
  const auto within = [&](int limit) { return l.least_code - most >= -limit && l.most_code - least < limit; };
  return within(8) ? DType::q4_0 : within(16) ? DType::q5_0 : within(128) ? DType::q8_0 : DType::f32;
}

inline void set_code(blocks::Q40& b, int i, int value) { blocks::set_nibble<16>(b.qs, i, value + 8); }
inline void set_code(blocks::Q50& b, int i, int value) {
  blocks::set_nibble<16>(b.qs, i, (value + 16) & 15);
  b.qh[i / 8] = uint8_t(b.qh[i / 8] | (value + 16) >> 4 << i % 8);
}
inline void set_code(blocks::Q80& b, int i, int value) { b.qs[i] = int8_t(value); }

template <class B, class L> void fill_grouped_blocks(const L& l, int64_t n, std::byte* row) {
  for (int64_t k = 0; k < l.K; k += 32) {
    const int64_t g = l.group[size_t(k)];
    const int zero = l.zero(n, g);
    B block{};
    block.d = f32_to_f16(l.scale(n, g));
    for (int i = 0; i < 32; ++i) set_code(block, i, l.code(n, k + i) - zero);
    std::memcpy(row + k / 32 * int64_t(sizeof block), &block, sizeof block);
  }
}

// On the backend's host, [N, K].
template <class L> Tensor grouped_weight(const L& l, Backend& backend) {
  return written_on_host(backend, {l.N, l.K}, grouped_dtype(l), [&](Tensor& y) {
    const auto row_bytes = int64_t(bytes_of(y.dtype(), l.K));
    backend.threads().for_ranges(l.N, 16, [&](int64_t first, int64_t last) {
      for (int64_t n = first; n < last; ++n) {
        std::byte* const to = y.raw() + n * row_bytes;
        switch (y.dtype()) {
          case DType::q4_0: fill_grouped_blocks<blocks::Q40>(l, n, to); break;
          case DType::q5_0: fill_grouped_blocks<blocks::Q50>(l, n, to); break;
          case DType::q8_0: fill_grouped_blocks<blocks::Q80>(l, n, to); break;
          default:
            for (int64_t k = 0; k < l.K; ++k) {
              const int64_t g = l.group[size_t(k)];
              y.data<float>()[n * l.K + k] = l.scale(n, g) * float(l.code(n, k) - l.zero(n, g));
            }
        }
      }
    });
  });
}

}  // namespace hearth
