#include "core/quantized/blocks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "core/quantized/block_grids.h"
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

// step · (an entry of a grid with these signs), for its values
template <class Entry> void decode_entry(float step, Entry entry, int signs, float* y) {
  for (int j = 0; j < int(sizeof entry); ++j) {
    const auto value = float(int8_t(entry >> (8 * j)));
    y[j] = step * (signs >> j & 1 ? -value : value);
  }
}

uint32_t word_at(const uint8_t* bytes) {
  uint32_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

void decode(const Iq2Xxs& b, float* y) {
  for (int g = 0; g < 8; ++g) {
    const uint32_t t = word_at(b.qs + 8 * g + 4);
    const float step = f16_to_f32(b.d) * float(2 * (t >> 28) + 1) / 8;
    for (int l = 0; l < 4; ++l)
      decode_entry(step, iq2_xxs_grid.entries[b.qs[8 * g + l]], iq_signs.entries[t >> (7 * l) & 127], y + 32 * g + 8 * l);
  }
}

// The scale of values 16j … 16j + 15
float iq2_step(uint16_t d, const uint8_t* scales, int j) { return f16_to_f32(d) * float(2 * (scales[j / 2] >> (j % 2 * 4) & 15) + 1) / 8; }

void decode(const Iq2Xs& b, float* y) {
  for (int i = 0; i < 32; ++i) {
    const int w = b.qs[2 * i] | b.qs[2 * i + 1] << 8;
    decode_entry(iq2_step(b.d, b.scales, i / 2), iq2_xs_grid.entries[w & 511], iq_signs.entries[w >> 9], y + 8 * i);
  }
}

void decode(const Iq2S& b, float* y) {
  for (int i = 0; i < 32; ++i) {
    const int entry = b.qs[i] | (b.qh[i / 4] >> (i % 4 * 2) & 3) << 8;
    decode_entry(iq2_step(b.d, b.scales, i / 2), iq2_s_grid.entries[entry], b.signs[i], y + 8 * i);
  }
}

void decode(const Iq3Xxs& b, float* y) {
  for (int i = 0; i < 64; ++i) {
    const uint32_t t = word_at(b.signs + i / 8 * 4);
    const int signs = iq_signs.entries[t >> (i / 2 % 4 * 7) & 127];
    decode_entry(f16_to_f32(b.d) * float(2 * (t >> 28) + 1) / 4, iq3_xxs_grid.entries[b.qs[i]], signs >> (i % 2 * 4), y + 4 * i);
  }
}

void decode(const Iq3S& b, float* y) {
  for (int i = 0; i < 64; ++i) {
    const int entry = b.qs[i] | (b.qh[i / 8] >> (i % 8) & 1) << 8, scale = b.scales[i / 16] >> (i / 8 % 2 * 4) & 15;
    decode_entry(f16_to_f32(b.d) * float(2 * scale + 1), iq3_s_grid.entries[entry], b.signs[i / 2] >> (i % 2 * 4), y + 4 * i);
  }
}

// The same with 1 added or subtracted
void decode_offset(float step, uint64_t entry, bool negative, float* y) {
  for (int j = 0; j < 8; ++j) y[j] = step * float(int8_t(entry >> (8 * j)) + (negative ? -1 : 1));
}

void decode(const Iq1S& b, float* y) {
  for (int i = 0; i < 32; ++i) {
    const int h = b.qh[i / 4], entry = b.qs[i] | (h >> (i % 4 * 3) & 7) << 8;
    decode_offset(f16_to_f32(b.d) * float(2 * (h >> 12 & 7) + 1) / 8, iq1_grid.entries[entry], h >> 15, y + 8 * i);
  }
}

void decode(const Iq1M& b, float* y) {
  for (int i = 0; i < 32; ++i) {
    const int h = b.qh[i / 2] >> (i % 2 * 4), entry = b.qs[i] | (h & 7) << 8;
    const float step = f16_to_f32(iq1_m_d(b.scales)) * float(2 * iq1_m_scale(b.scales, i / 2) + 1) / 8;
    decode_offset(step, iq1_grid.entries[entry], h & 8, y + 8 * i);
  }
}

bool finite_f16(uint16_t bits) { return (bits & 0x7c00) != 0x7c00; }

// Every value is a multiple of d, plus one of m or dmin. These determine all values, because no product of finite ones overflows f32.
template <class B> int64_t non_finite(const B& b) {
  bool finite = finite_f16(b.d);
  if constexpr (requires { b.m; }) finite = finite && finite_f16(b.m);
  if constexpr (requires { b.dmin; }) finite = finite && finite_f16(b.dmin);
  return finite ? 0 : B::values;
}

int64_t non_finite(const Iq1M& b) { return finite_f16(iq1_m_d(b.scales)) ? 0 : Iq1M::values; }

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
