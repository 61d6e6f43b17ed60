#include "core/blocks.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/error.h"

namespace hearth {
namespace {

float scale_at(const std::byte* p) {
  uint16_t bits;
  std::memcpy(&bits, p, sizeof bits);
  return f16_to_f32(bits);
}

void decode_q8_0(const std::byte* x, float* y) {
  const float d = scale_at(x);
  for (int i = 0; i < 32; ++i) y[i] = d * float(int8_t(x[2 + i]));
}

void encode_q8_0(const float* x, std::byte* y) {
  float largest = 0;
  for (int i = 0; i < 32; ++i) largest = std::max(largest, std::abs(x[i]));
  const float d = largest / 127, inverse = d != 0 ? 1 / d : 0;
  const uint16_t bits = f32_to_f16(d);
  std::memcpy(y, &bits, sizeof bits);
  for (int i = 0; i < 32; ++i) y[2 + i] = std::byte(int8_t(std::round(x[i] * inverse)));
}

}  // namespace

void decode_blocks(DType dtype, const std::byte* x, int64_t values, float* y) {
  if (dtype != DType::q8_0) fail<UnsupportedError>("blocks: {} cannot be decoded", name_of(dtype));
  for (int64_t i = 0; i < values; i += 32) decode_q8_0(x + i / 32 * 34, y + i);
}

void encode_blocks(DType dtype, const float* x, int64_t values, std::byte* y) {
  if (dtype != DType::q8_0) fail<UnsupportedError>("blocks: {} cannot be encoded", name_of(dtype));
  for (int64_t i = 0; i < values; i += 32) encode_q8_0(x + i, y + i / 32 * 34);
}

}  // namespace hearth
