// Element types and exact conversions between the 16-bit floats and f32.
//
// Most dtypes store one value after another. The block types are those of GGUF (dequantized by core/quantized/blocks.h): groups of
// consecutive values of a row share scales, and are stored and addressed together.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hearth {

// clang-format off
enum class DType : uint8_t {
  f32, f16, bf16, f64, i8, u8, i16, u16, i32, u32, i64, u64, boolean, f8_e4m3, f8_e5m2,
  q4_0, q4_1, q5_0, q5_1, q8_0, q2_k, q3_k, q4_k, q5_k, q6_k, iq4_nl, iq4_xs, mxfp4,
  iq2_xxs, iq2_xs, iq2_s, iq3_xxs, iq3_s, iq1_s, iq1_m,
};
// clang-format on

struct Block {
  int64_t values;
  size_t bytes;
};
Block block_of(DType dtype);  // {1, size} for a dtype that is not a block type
constexpr bool is_blocked(DType d) { return d >= DType::q4_0; }
size_t bytes_of(DType dtype, int64_t values);  // `values` is a multiple of the block
size_t size_of(DType dtype);                   // bytes of one element; not for block types
std::string_view name_of(DType dtype);         // "f32", "bf16", …
std::optional<DType> dtype_named(std::string_view name);
constexpr bool is_float(DType d) { return d == DType::f32 || d == DType::f16 || d == DType::bf16 || d == DType::f64; }
constexpr bool is_16bit_float(DType d) { return d == DType::f16 || d == DType::bf16; }
constexpr bool is_8bit_float(DType d) { return d == DType::f8_e4m3 || d == DType::f8_e5m2; }
// Types that only weights have, and that their products widen: block types and 8-bit floats.
constexpr bool is_compact(DType d) { return is_blocked(d) || is_8bit_float(d); }

// IEEE binary16 → binary32, exact; subnormals, infinities and NaN kept.
inline float f16_to_f32(uint16_t h) {
  const uint32_t sign = uint32_t(h & 0x8000) << 16, exponent = (h >> 10) & 31, mantissa = h & 0x3ff;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | (mantissa << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float value = float(mantissa) * 0x1p-24f;
  return sign ? -value : value;
}

// binary32 → binary16, to nearest even; overflow becomes infinity.
inline uint16_t f32_to_f16(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f), sign = (bits >> 16) & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return uint16_t(sign | 0x7e00 | ((magnitude >> 13) & 0x3ff));  // NaN stays NaN
  if (magnitude >= 0x477ff000) return uint16_t(sign | 0x7c00);                               // rounds to ≥ 65520
  if (magnitude >= 0x38800000) {                                                             // normal
    const uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
    return uint16_t(sign | ((rounded - 0x38000000) >> 13));
  }
  // Subnormal or zero: adding 0.5 makes the f32 adder round at 2⁻²⁴.
  const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
  return uint16_t(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000));
}

inline float bf16_to_f32(uint16_t b) { return std::bit_cast<float>(uint32_t(b) << 16); }

// binary32 → bfloat16, to nearest even; NaN stays NaN.
inline uint16_t f32_to_bf16(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  if ((bits & 0x7fffffff) > 0x7f800000) return uint16_t((bits >> 16) | 0x40);
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// 8-bit floats → binary32, exact (OCP 8-bit floating point, 2023). e4m3: sign, 4 exponent bits (bias 7), 3 mantissa bits; no infinity, NaN
// if all seven are set. e5m2: the upper half of an f16. `bits` of either dtype, by its value.
float f8_e4m3_to_f32(uint8_t bits);
inline float f8_e5m2_to_f32(uint8_t bits) { return f16_to_f32(uint16_t(bits << 8)); }
inline float f8_to_f32(DType dtype, uint8_t bits) { return dtype == DType::f8_e4m3 ? f8_e4m3_to_f32(bits) : f8_e5m2_to_f32(bits); }
constexpr bool f8_is_finite(DType dtype, uint8_t bits) { return dtype == DType::f8_e4m3 ? (bits & 0x7f) != 0x7f : (bits & 0x7c) != 0x7c; }

// The 16-bit floats as types, for templates over the element type.
// clang-format off
struct F16 { uint16_t bits; };
struct BF16 { uint16_t bits; };
// clang-format on
inline float widen(float v) { return v; }
inline float widen(F16 v) { return f16_to_f32(v.bits); }
inline float widen(BF16 v) { return bf16_to_f32(v.bits); }
template <class T> T narrow(float v);
template <> inline float narrow<float>(float v) { return v; }
template <> inline F16 narrow<F16>(float v) { return {f32_to_f16(v)}; }
template <> inline BF16 narrow<BF16>(float v) { return {f32_to_bf16(v)}; }

}  // namespace hearth
