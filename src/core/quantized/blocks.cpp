#include "core/quantized/blocks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "core/quantized/block_layouts.h"

namespace hearth {
namespace blocks {
namespace {

void decode(const Q40& b, float* y) {
  for (int i = 0; i < 32; ++i) y[i] = f16_to_f32(b.d) * float(nibble<16>(b.qs, i) - 8);
}

void decode(const Q41& b, float* y) {
  for (int i = 0; i < 32; ++i) y[i] = f16_to_f32(b.d) * float(nibble<16>(b.qs, i)) + f16_to_f32(b.m);
}

int fifth_bit(const uint8_t* qh, int i) { return (qh[i / 8] >> (i % 8) & 1) << 4; }

void decode(const Q50& b, float* y) {
  for (int i = 0; i < 32; ++i) y[i] = f16_to_f32(b.d) * float((nibble<16>(b.qs, i) | fifth_bit(b.qh, i)) - 16);
}

void decode(const Q51& b, float* y) {
  for (int i = 0; i < 32; ++i) y[i] = f16_to_f32(b.d) * float(nibble<16>(b.qs, i) | fifth_bit(b.qh, i)) + f16_to_f32(b.m);
}

void decode(const Q80& b, float* y) {
  for (int i = 0; i < 32; ++i) y[i] = f16_to_f32(b.d) * float(b.qs[i]);
}

void decode(const Q2K& b, float* y) {
  for (int j = 0; j < 16; ++j) {
    const float scale = f16_to_f32(b.d) * float(b.scales[j] & 15), minimum = f16_to_f32(b.dmin) * float(b.scales[j] >> 4);
    for (int i = 16 * j; i < 16 * (j + 1); ++i) y[i] = scale * float(two_bits(b.qs, i)) - minimum;
  }
}

void decode(const Q3K& b, float* y) {
  for (int j = 0; j < 16; ++j) {
    const float scale = f16_to_f32(b.d) * float(q3_k_scale(b.scales, j) - 32);
    for (int i = 16 * j; i < 16 * (j + 1); ++i) y[i] = scale * float(two_bits(b.qs, i) - (high_bit(b.qh, i) ? 0 : 4));
  }
}

void decode(const Q4K& b, float* y) {
  for (int j = 0; j < 8; ++j) {
    const auto [sc, mn] = q4_k_scale(b.scales, j);
    const float scale = f16_to_f32(b.d) * float(sc), minimum = f16_to_f32(b.dmin) * float(mn);
    for (int i = 32 * j; i < 32 * (j + 1); ++i) y[i] = scale * float(nibble<32>(b.qs, i)) - minimum;
  }
}

void decode(const Q5K& b, float* y) {
  for (int j = 0; j < 8; ++j) {
    const auto [sc, mn] = q4_k_scale(b.scales, j);
    const float scale = f16_to_f32(b.d) * float(sc), minimum = f16_to_f32(b.dmin) * float(mn);
    for (int i = 32 * j; i < 32 * (j + 1); ++i) y[i] = scale * float(nibble<32>(b.qs, i) | high_bit(b.qh, i) << 4) - minimum;
  }
}

void decode(const Q6K& b, float* y) {
  for (int j = 0; j < 16; ++j) {
    const float scale = f16_to_f32(b.d) * float(b.scales[j]);
    for (int i = 16 * j; i < 16 * (j + 1); ++i) y[i] = scale * float((nibble<64>(b.ql, i) | two_bits(b.qh, i) << 4) - 32);
  }
}

void decode(const Iq4Nl& b, float* y) {
  for (int i = 0; i < 32; ++i) y[i] = f16_to_f32(b.d) * float(iq4_codes[nibble<16>(b.qs, i)]);
}

void decode(const Iq4Xs& b, float* y) {
  for (int j = 0; j < 8; ++j) {
    const float scale = f16_to_f32(b.d) * float(iq4_xs_scale(b, j) - 32);
    for (int i = 32 * j; i < 32 * (j + 1); ++i) y[i] = scale * float(iq4_codes[nibble<16>(b.qs, i)]);
  }
}

void decode(const Mxfp4& b, float* y) {
  const float half_scale = std::ldexp(1.0f, int(b.e) - 128);
  for (int i = 0; i < 32; ++i) y[i] = half_scale * float(e2m1_codes[nibble<16>(b.qs, i)]);
}

bool finite_f16(uint16_t bits) { return (bits & 0x7c00) != 0x7c00; }

// Every value is a multiple of d, plus one of m or dmin. These determine all values, because no product of finite ones overflows f32.
template <class B> int64_t non_finite(const B& b) {
  bool finite = finite_f16(b.d);
  if constexpr (requires { b.m; }) finite = finite && finite_f16(b.m);
  if constexpr (requires { b.dmin; }) finite = finite && finite_f16(b.dmin);
  return finite ? 0 : B::values;
}

int64_t non_finite(const Mxfp4& b) {
  if (b.e <= 252) return 0;  // 2¹²⁴ · 12 is finite
  float y[32];
  decode(b, y);
  return std::ranges::count_if(y, [](float v) { return !std::isfinite(v); });
}

// f(block, index) for the blocks at x.
template <class B, class F> void for_each_block(const std::byte* x, int64_t values, F f) {
  static_assert(std::is_trivially_copyable_v<B>);
  for (int64_t i = 0; i < values / B::values; ++i) {
    B block;
    std::memcpy(&block, x + i * int64_t(sizeof block), sizeof block);
    f(block, i);
  }
}

}  // namespace
}  // namespace blocks

void decode_blocks(DType dtype, const std::byte* x, int64_t values, float* y) {
  blocks::with_layout(dtype, [&]<class B>() {
    blocks::for_each_block<B>(x, values, [&](const B& block, int64_t i) { blocks::decode(block, y + i * B::values); });
  });
}

int64_t non_finite_in_blocks(DType dtype, const std::byte* x, int64_t values) {
  return blocks::with_layout(dtype, [&]<class B>() {
    int64_t count = 0;
    blocks::for_each_block<B>(x, values, [&](const B& block, int64_t) { count += blocks::non_finite(block); });
    return count;
  });
}

}  // namespace hearth
