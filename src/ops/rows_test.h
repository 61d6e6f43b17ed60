// Weights held in place, on the device under test and on the reference backend.
#pragma once

#include <cmath>
#include <cstring>
#include <random>

#include "ops/random_test.h"

namespace hearth::test {

// clang-format off
inline constexpr DType held[] = {DType::f32, DType::f16, DType::bf16, DType::f8_e4m3, DType::f8_e5m2, DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1, DType::q8_0, DType::q2_k,
                          DType::q3_k, DType::q4_k, DType::q5_k, DType::q6_k, DType::iq4_nl, DType::iq4_xs, DType::mxfp4,
                          DType::iq2_xxs, DType::iq2_xs, DType::iq2_s, DType::iq3_xxs, DType::iq3_s, DType::iq1_s, DType::iq1_m};
// clang-format on
inline constexpr std::span blocks = std::span(held).subspan(5);

// Whether values are codes times a step, plus a lowest value.
constexpr bool has_lowest(DType dtype) {
  return dtype == DType::q4_1 || dtype == DType::q5_1 || dtype == DType::q2_k || dtype == DType::q4_k || dtype == DType::q5_k;
}

// Offset of the f16 values of a block.
inline std::vector<size_t> scales_of(DType dtype) {
  switch (dtype) {
    case DType::mxfp4:
    case DType::iq1_m: return {};
    case DType::q4_1:
    case DType::q5_1:
    case DType::q4_k:
    case DType::q5_k: return {0, 2};
    case DType::q2_k: return {80, 82};
    case DType::q3_k: return {108};
    case DType::q6_k: return {208};
    default: return {0};
  }
}

// Rows of random values in any dtype that can be held, rounded toward zero to 8-bit floats; for block types, random bytes with the values
// as scales, the only floats in a block. On the device's host, like mapped files.
inline Tensor rows_of(Backend& device, const Shape& shape, const std::vector<float>& values, DType dtype) {
  if (!is_compact(dtype)) return Tensor::from(device.host(), shape, values, dtype);
  Tensor w = Tensor::empty(device.host(), shape, dtype);
  if (is_8bit_float(dtype)) {  // the bits of a value's f16, cut off: magnitudes of 2⁻⁸ as e4m3
    for (size_t i = 0; i < values.size(); ++i) {
      const uint16_t half = f32_to_f16(dtype == DType::f8_e4m3 ? values[i] / 256 : values[i]);
      w.raw()[i] = std::byte(dtype == DType::f8_e4m3 ? (half >> 8 & 0x80) | (half >> 7 & 0x7f) : half >> 8);
    }
    return w;
  }
  const auto [count, bytes] = block_of(dtype);
  std::mt19937 engine(uint32_t(shape.numel()));
  for (size_t i = 0; i < w.bytes(); ++i) w.raw()[i] = std::byte(engine());
  for (size_t b = 0; b * bytes < w.bytes(); ++b) {
    std::byte* block = w.raw() + b * bytes;
    if (dtype == DType::mxfp4) block[0] = std::byte(120 + b % 5);
    if (dtype == DType::iq1_m) {  // the four nibbles of the scale, below the nibbles' own bytes
      const uint16_t scale = f32_to_f16(values[b * size_t(count)]);
      for (size_t i = 0; i < 4; ++i) block[49 + 2 * i] = (block[49 + 2 * i] & std::byte(15)) | std::byte((scale >> (4 * i) & 15) << 4);
    }
    for (const size_t at : scales_of(dtype)) {
      const uint16_t scale = f32_to_f16(values[b * size_t(count) + at]);
      std::memcpy(block + at, &scale, sizeof scale);
    }
  }
  return w;
}

inline Random::WeightPair in_place(Random& random, Backend& device, const Shape& shape, DType dtype, DType factors = DType::f32,
                                   WeightKind kind = WeightKind::linear) {
  const std::vector<float> values =
      random.normal(test::reference_backend(), shape, DType::f32, 1 / std::sqrt(float(shape[1]))).reference.to_vector();
  const auto make = [&](Backend& backend) {
    const WeightForm form{.hold = dtype, .factors = factors, .in_place = true};
    return Weight{.name = "w",
                  .shape = shape,
                  .form = form,
                  .prepared = backend.prepare(rows_of(backend, shape, values, dtype), kind, form),
                  .backend = &backend,
                  .kind = kind};
  };
  return {make(device), make(test::reference_backend())};
}

}  // namespace hearth::test
