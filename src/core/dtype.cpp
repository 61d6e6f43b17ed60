#include "core/dtype.h"

#include <array>
#include <cassert>
#include <cmath>
#include <limits>

namespace hearth {
namespace {

struct Entry {
  std::string_view name;
  Block block;
};
// clang-format off
constexpr std::array<Entry, 35> table{{
    {"f32", {1, 4}}, {"f16", {1, 2}}, {"bf16", {1, 2}}, {"f64", {1, 8}}, {"i8", {1, 1}}, {"u8", {1, 1}}, {"i16", {1, 2}}, {"u16", {1, 2}},
    {"i32", {1, 4}}, {"u32", {1, 4}}, {"i64", {1, 8}}, {"u64", {1, 8}}, {"bool", {1, 1}}, {"f8_e4m3", {1, 1}}, {"f8_e5m2", {1, 1}},
    {"q4_0", {32, 18}}, {"q4_1", {32, 20}}, {"q5_0", {32, 22}}, {"q5_1", {32, 24}}, {"q8_0", {32, 34}}, {"q2_k", {256, 84}},
    {"q3_k", {256, 110}}, {"q4_k", {256, 144}}, {"q5_k", {256, 176}}, {"q6_k", {256, 210}}, {"iq4_nl", {32, 18}},
    {"iq4_xs", {256, 136}}, {"mxfp4", {32, 17}},
    {"iq2_xxs", {256, 66}}, {"iq2_xs", {256, 74}}, {"iq2_s", {256, 82}}, {"iq3_xxs", {256, 98}}, {"iq3_s", {256, 110}},
    {"iq1_s", {256, 50}}, {"iq1_m", {256, 56}}}};
// clang-format on

}  // namespace

Block block_of(DType dtype) { return table[size_t(dtype)].block; }

size_t bytes_of(DType dtype, int64_t values) {
  const auto [count, bytes] = block_of(dtype);
  assert(values % count == 0);
  return size_t(values / count) * bytes;
}

size_t size_of(DType dtype) {
  assert(!is_blocked(dtype));
  return table[size_t(dtype)].block.bytes;
}

std::string_view name_of(DType dtype) { return table[size_t(dtype)].name; }

std::optional<DType> dtype_named(std::string_view name) {
  for (size_t i = 0; i < table.size(); ++i)
    if (table[i].name == name) return DType(i);
  return std::nullopt;
}

float f8_e4m3_to_f32(uint8_t bits) {
  const int exponent = (bits >> 3) & 15, mantissa = bits & 7;
  if (exponent == 15 && mantissa == 7) return std::numeric_limits<float>::quiet_NaN();
  const float value = exponent == 0 ? std::ldexp(float(mantissa), -9) : std::ldexp(float(8 + mantissa), exponent - 10);
  return bits & 0x80 ? -value : value;
}

}  // namespace hearth
