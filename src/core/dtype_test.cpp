#include "core/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace hearth {
namespace {

// The nearest of all finite 16-bit values, ties to the even pattern, found by exhaustive search.
template <class Widen> uint16_t nearest_by_search(double value, uint16_t largest_finite, Widen widen_bits) {
  uint16_t low = 0, high = largest_finite;
  while (high - low > 1) {
    const uint16_t middle = uint16_t((low + high) / 2);
    (widen_bits(middle) <= value ? low : high) = middle;
  }
  const double below = value - widen_bits(low), above = widen_bits(high) - value;
  if (below == above) return low % 2 == 0 ? low : high;
  return below < above ? low : high;
}

TEST(Dtype, every_f16_survives_the_round_trip) {
  for (uint32_t h = 0; h < 65536; ++h) {
    const float wide = f16_to_f32(uint16_t(h));
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(wide))));
      continue;
    }
    ASSERT_EQ(f32_to_f16(wide), h);
  }
  EXPECT_EQ(f16_to_f32(0x3c00), 1.0f);
  EXPECT_EQ(f16_to_f32(0x7bff), 65504.0f);
  EXPECT_EQ(f16_to_f32(0x0001), 0x1p-24f);
  EXPECT_EQ(f16_to_f32(0xfc00), -std::numeric_limits<float>::infinity());
}

TEST(Dtype, f16_rounds_to_nearest_even) {
  uint32_t state = 12345;
  for (int i = 0; i < 200000; ++i) {
    state = state * 1664525u + 1013904223u;
    const float value = std::ldexp(1.0f + float(state >> 9) * 0x1p-23f, int(state % 42) - 26);
    if (value >= 65504.0f) continue;
    ASSERT_EQ(f32_to_f16(value), nearest_by_search(value, 0x7bff, [](uint16_t h) { return double(f16_to_f32(h)); })) << value;
  }
  EXPECT_EQ(f32_to_f16(1.0f + 0x1p-11f), 0x3c00);      // tie, rounds down to even
  EXPECT_EQ(f32_to_f16(1.0f + 3 * 0x1p-11f), 0x3c02);  // tie, rounds up to even
  EXPECT_EQ(f32_to_f16(65519.0f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(f32_to_f16(-0.0f), 0x8000);
  EXPECT_EQ(f32_to_f16(0x1p-25f), 0);  // tie with zero
  EXPECT_EQ(f32_to_f16(0x1.8p-25f), 1);
}

TEST(Dtype, bf16_rounds_to_nearest_even) {
  uint32_t state = 99;
  for (int i = 0; i < 200000; ++i) {
    state = state * 1664525u + 1013904223u;
    const float value = std::ldexp(1.0f + float(state >> 9) * 0x1p-23f, int(state % 200) - 100);
    ASSERT_EQ(f32_to_bf16(value), nearest_by_search(value, 0x7f7f, [](uint16_t b) { return double(bf16_to_f32(b)); })) << value;
  }
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::bit_cast<float>(0x7f800001u)))));  // NaN payload only in the low bits
  EXPECT_EQ(bf16_to_f32(f32_to_bf16(998.39f)), 1000.0f);  // the reason why timesteps are never 16-bit (numerics §6)
}

TEST(Dtype, names_and_sizes) {
  for (int i = 0; i < 15; ++i) EXPECT_EQ(dtype_named(name_of(DType(i))), DType(i));
  EXPECT_FALSE(dtype_named("float"));
  EXPECT_EQ(size_of(DType::bf16), 2u);
  EXPECT_EQ(size_of(DType::i64), 8u);
}

}  // namespace
}  // namespace hearth
