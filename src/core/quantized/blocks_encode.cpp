#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/quantized/block_fit.h"
#include "core/quantized/block_layouts.h"
#include "core/quantized/blocks.h"

namespace hearth {
namespace blocks {
namespace {

// The importance of each value's column, or null; and the mean square of the row, if there is one.
struct Importance {
  const float* columns = nullptr;
  float row_square = 0;
};

float mean_square(const float* x, int64_t values) {
  double squares = 0;
  for (int64_t i = 0; i < values; ++i) squares += double(x[i]) * double(x[i]);
  return float(squares / double(values));
}

// σ² with importance, as in llama.cpp: `times` the mean square of the block, or the mean square of the row.
Cost cost_of(const float* x, int values, const Importance& importance, float times) {
  return {.importance = importance.columns, .square = importance.columns ? times * mean_square(x, values) : 0};
}
Cost cost_in_row(const Importance& importance) { return {.importance = importance.columns, .square = importance.row_square}; }

// The types of 32 values, except iq4_nl, follow the reference operation by operation, including its rounding: the bits are the same. With
// importance they search.

float extreme(const float* x) {  // the first of the largest magnitude, with its sign
  return *std::max_element(x, x + 32, [](float a, float b) { return std::abs(a) < std::abs(b); });
}

int truncated(float x, int most) { return x >= float(most) ? most : x > 0 ? int(x) : 0; }

void encode(const float* x, Q40& b) {
  const float d = extreme(x) / -8, by = inverse(d);
  b.d = f32_to_f16(d);
  for (int i = 0; i < 32; ++i) set_nibble<16>(b.qs, i, truncated(x[i] * by + 8.5f, 15));
}

void encode(const float* x, Q41& b) {
  const auto [least, most] = std::minmax_element(x, x + 32);
  const float d = (*most - *least) / 15, by = inverse(d);
  b.d = f32_to_f16(d);
  b.m = f32_to_f16(*least);
  for (int i = 0; i < 32; ++i) set_nibble<16>(b.qs, i, truncated((x[i] - *least) * by + 0.5f, 15));
}

template <class B> void set_five_bits(B& b, int i, int q) {
  set_nibble<16>(b.qs, i, q & 15);
  b.qh[i / 8] = uint8_t(b.qh[i / 8] | q >> 4 << i % 8);
}

void encode(const float* x, Q50& b) {
  const float d = extreme(x) / -16, by = inverse(d);
  b.d = f32_to_f16(d);
  for (int i = 0; i < 32; ++i) set_five_bits(b, i, truncated(x[i] * by + 16.5f, 31));
}

void encode(const float* x, Q51& b) {
  const auto [least, most] = std::minmax_element(x, x + 32);
  const float d = (*most - *least) / 31, by = inverse(d);
  b.d = f32_to_f16(d);
  b.m = f32_to_f16(*least);
  for (int i = 0; i < 32; ++i) set_five_bits(b, i, truncated((x[i] - *least) * by + 0.5f, 31));
}

void encode(const float* x, Q80& b) {
  const float d = std::abs(extreme(x)) / 127, by = inverse(d);
  b.d = f32_to_f16(d);
  for (int i = 0; i < 32; ++i) b.qs[i] = int8_t(std::round(x[i] * by));
}

void encode(const float* x, Mxfp4& b) {
  const float largest = std::abs(extreme(x));
  b.e = largest > 0 ? uint8_t(std::max(std::ilogb(largest) - 2 + 127, 0)) : uint8_t(0);
  const float half_scale = std::ldexp(1.0f, int(b.e) - 128);
  for (int i = 0; i < 32; ++i) {
    const auto error = [&](int8_t code) { return std::abs(half_scale * float(code) - x[i]); };
    set_nibble<16>(b.qs, i, int(std::ranges::min_element(e2m1_codes, {}, error) - e2m1_codes));
  }
}

void encode(const float* x, Q40& b, const Importance& importance) {
  if (!importance.columns) return encode(x, b);
  const PlainFit fit = fit_plain(x, 8, cost_in_row(importance));
  b.d = fit.d;
  for (int i = 0; i < 32; ++i) set_nibble<16>(b.qs, i, fit.codes[size_t(i)] + 8);
}

void encode(const float* x, Q50& b, const Importance& importance) {
  if (!importance.columns) return encode(x, b);
  const PlainFit fit = fit_plain(x, 16, cost_in_row(importance));
  b.d = fit.d;
  for (int i = 0; i < 32; ++i) set_five_bits(b, i, fit.codes[size_t(i)] + 16);
}

void encode(const float* x, Q41& b, const Importance& importance) {
  if (!importance.columns) return encode(x, b);
  const ShiftedFit fit = fit_shifted(x, 15, cost_in_row(importance));
  b.d = fit.d;
  b.m = fit.m;
  for (int i = 0; i < 32; ++i) set_nibble<16>(b.qs, i, fit.codes[size_t(i)]);
}

void encode(const float* x, Q51& b, const Importance& importance) {
  if (!importance.columns) return encode(x, b);
  const ShiftedFit fit = fit_shifted(x, 31, cost_in_row(importance));
  b.d = fit.d;
  b.m = fit.m;
  for (int i = 0; i < 32; ++i) set_five_bits(b, i, fit.codes[size_t(i)]);
}

void encode(const float* x, Iq4Nl& b, const Importance& importance) {
  const TableFit<1> fit = fit_table<1>(x, iq4_codes, 1, cost_of(x, 32, importance, 2));
  b.d = fit.d;
  for (int i = 0; i < 32; ++i) set_nibble<16>(b.qs, i, fit.codes[size_t(i)]);
}

// The types of 256 values.

void encode(const float* x, Q2K& b, const Importance& importance) {
  const OffsetFit<16> fit = fit_offset<16>(x, 3, 15, cost_of(x, 256, importance, 1));
  b.d = fit.d;
  b.dmin = fit.dmin;
  for (int j = 0; j < 16; ++j) b.scales[j] = uint8_t(fit.scales[size_t(j)] | fit.minima[size_t(j)] << 4);
  for (int i = 0; i < 256; ++i) set_two_bits(b.qs, i, fit.codes[size_t(i)]);
}

void encode(const float* x, Q3K& b, const Importance& importance) {
  const ScaledFit<16> fit = fit_scaled<16>(x, 4, 32, cost_of(x, 256, importance, 2));
  b.d = fit.d;
  for (int j = 0; j < 16; ++j) set_q3_k_scale(b.scales, j, fit.scales[size_t(j)] + 32);
  for (int i = 0; i < 256; ++i) {
    const int q = fit.codes[size_t(i)] + 4;
    set_two_bits(b.qs, i, q & 3);
    set_high_bit(b.qh, i, q >> 2);
  }
}

template <class B> void set_scales(const OffsetFit<32>& fit, B& b) {
  b.d = fit.d;
  b.dmin = fit.dmin;
  for (int j = 0; j < 8; ++j) set_q4_k_scale(b.scales, j, {fit.scales[size_t(j)], fit.minima[size_t(j)]});
}

void encode(const float* x, Q4K& b, const Importance& importance) {
  const OffsetFit<32> fit = fit_offset<32>(x, 15, 63, cost_of(x, 256, importance, 2));
  set_scales(fit, b);
  for (int i = 0; i < 256; ++i) set_nibble<32>(b.qs, i, fit.codes[size_t(i)]);
}

void encode(const float* x, Q5K& b, const Importance& importance) {
  const OffsetFit<32> fit = fit_offset<32>(x, 31, 63, cost_of(x, 256, importance, 2));
  set_scales(fit, b);
  for (int i = 0; i < 256; ++i) {
    set_nibble<32>(b.qs, i, fit.codes[size_t(i)] & 15);
    set_high_bit(b.qh, i, fit.codes[size_t(i)] >> 4);
  }
}

void encode(const float* x, Q6K& b, const Importance& importance) {
  const ScaledFit<16> fit = fit_scaled<16>(x, 32, 128, {.importance = importance.columns, .alone = importance.columns != nullptr});
  b.d = fit.d;
  for (int j = 0; j < 16; ++j) b.scales[j] = int8_t(fit.scales[size_t(j)]);
  for (int i = 0; i < 256; ++i) {
    const int q = fit.codes[size_t(i)] + 32;
    set_nibble<64>(b.ql, i, q & 15);
    set_two_bits(b.qh, i, q >> 4);
  }
}

void encode(const float* x, Iq4Xs& b, const Importance& importance) {
  const TableFit<8> fit = fit_table<8>(x, iq4_codes, 32, cost_of(x, 256, importance, 2));
  b.d = fit.d;
  for (int j = 0; j < 8; ++j) set_iq4_xs_scale(b, j, fit.scales[size_t(j)] + 32);
  for (int i = 0; i < 256; ++i) set_nibble<16>(b.qs, i, fit.codes[size_t(i)]);
}

// The search for a scale would skip a NaN, and codes cannot represent one.
template <class B> void encode_non_finite(B& b) { b.d = f32_to_f16(std::numeric_limits<float>::quiet_NaN()); }
void encode_non_finite(Mxfp4& b) {
  b.e = 255;
  for (int i = 0; i < 32; ++i) set_nibble<16>(b.qs, i, 7);
}

template <class B>
concept uses_importance = requires(const float* x, B& b) {
  encode(x, b, Importance{});
};
template <class B>
concept can_encode = uses_importance<B> || requires(const float* x, B& b) {
  encode(x, b);
};

}  // namespace
}  // namespace blocks

bool uses_importance(DType dtype) {
  return is_blocked(dtype) && blocks::with_layout(dtype, []<class B>() { return blocks::uses_importance<B>; });
}

void encode_blocks(DType dtype, const float* x, int64_t values, std::byte* y, std::span<const float> importance) {
  blocks::with_layout(dtype, [&]<class B>() {
    if constexpr (!blocks::can_encode<B>) {
      fail<UnsupportedError>("blocks: values cannot be quantized to {}", name_of(dtype));
    } else {
      const int64_t row = std::ssize(importance);
      blocks::Importance of;
      for (int64_t i = 0; i < values / B::values; ++i) {
        B block{};
        const float* const from = x + i * B::values;
        const bool finite = std::all_of(from, from + B::values, [](float v) { return std::isfinite(v); });
        if (row > 0) {
          const int64_t at = i * B::values % row;
          of.columns = importance.data() + at;
          if (at == 0) of.row_square = blocks::mean_square(from, row);
        }
        if (!finite) blocks::encode_non_finite(block);
        else if constexpr (blocks::uses_importance<B>) blocks::encode(from, block, of);
        else blocks::encode(from, block);
        std::memcpy(y + i * int64_t(sizeof block), &block, sizeof block);
      }
    }
  });
}

}  // namespace hearth
