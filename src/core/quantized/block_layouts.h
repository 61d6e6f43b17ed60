// ggml's block layouts, with fields in byte order, and accessors for the packed fields. A block in a file may begin at any address: copy
// it before accessing its fields. d, m and dmin are IEEE binary16.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "core/error.h"

namespace hearth::blocks {

struct Q40 {
  static constexpr int values = 32;
  uint16_t d;
  uint8_t qs[16];
};
struct Q41 {
  static constexpr int values = 32;
  uint16_t d, m;
  uint8_t qs[16];
};
struct Q50 {
  static constexpr int values = 32;
  uint16_t d;
  uint8_t qh[4], qs[16];
};
struct Q51 {
  static constexpr int values = 32;
  uint16_t d, m;
  uint8_t qh[4], qs[16];
};
struct Q80 {
  static constexpr int values = 32;
  uint16_t d;
  int8_t qs[32];
};
struct Q2K {
  static constexpr int values = 256;
  uint8_t scales[16];  // of 16 values each: scale in the low half, minimum in the high half
  uint8_t qs[64];
  uint16_t d, dmin;
};
struct Q3K {
  static constexpr int values = 256;
  uint8_t qh[32], qs[64], scales[12];
  uint16_t d;
};
struct Q4K {
  static constexpr int values = 256;
  uint16_t d, dmin;
  uint8_t scales[12], qs[128];
};
struct Q5K {
  static constexpr int values = 256;
  uint16_t d, dmin;
  uint8_t scales[12], qh[32], qs[128];
};
struct Q6K {
  static constexpr int values = 256;
  uint8_t ql[128], qh[64];
  int8_t scales[16];
  uint16_t d;
};
struct Iq4Nl {
  static constexpr int values = 32;
  uint16_t d;
  uint8_t qs[16];
};
struct Iq4Xs {
  static constexpr int values = 256;
  uint16_t d;
  uint8_t scales_h[2], scales_l[4], qs[128];
};
struct Mxfp4 {
  static constexpr int values = 32;
  uint8_t e;  // E8M0
  uint8_t qs[16];
};

// In groups of 32 values: four entries of a grid (block_grids.h), their signs and a scale.
struct Iq2Xxs {
  static constexpr int values = 256;
  uint16_t d;
  uint8_t qs[64];  // of a group: four entries, then a word of four 7-bit signs and the scale
};
struct Iq2Xs {
  static constexpr int values = 256;
  uint16_t d;
  uint8_t qs[64];  // words of an entry and, in the upper 7 bits, its signs
  uint8_t scales[8];
};
struct Iq2S {
  static constexpr int values = 256;
  uint16_t d;
  uint8_t qs[32], signs[32], qh[8], scales[8];
};
struct Iq3Xxs {
  static constexpr int values = 256;
  uint16_t d;
  uint8_t qs[64], signs[32];  // signs: words as in Iq2Xxs
};
struct Iq3S {
  static constexpr int values = 256;
  uint16_t d;
  uint8_t qs[64], qh[8], signs[32], scales[4];
};
struct Iq1S {
  static constexpr int values = 256;
  uint16_t d;
  uint8_t qs[32];
  uint16_t qh[8];  // of a group: four times three upper bits of an entry, the scale, and the sign of the offset
};
struct Iq1M {
  static constexpr int values = 256;
  uint8_t qs[32], qh[16];  // qh: a nibble for an entry, its three upper bits and the sign of the offset
  uint16_t scales[4];      // four scales of 3 bits each; their upper nibbles are d
};

// f.operator()<B>() for the layout B of a block type. UnsupportedError for another type.
template <class F> auto with_layout(DType dtype, F f) {
  switch (dtype) {
    case DType::q4_0: return f.template operator()<Q40>();
    case DType::q4_1: return f.template operator()<Q41>();
    case DType::q5_0: return f.template operator()<Q50>();
    case DType::q5_1: return f.template operator()<Q51>();
    case DType::q8_0: return f.template operator()<Q80>();
    case DType::q2_k: return f.template operator()<Q2K>();
    case DType::q3_k: return f.template operator()<Q3K>();
    case DType::q4_k: return f.template operator()<Q4K>();
    case DType::q5_k: return f.template operator()<Q5K>();
    case DType::q6_k: return f.template operator()<Q6K>();
    case DType::iq4_nl: return f.template operator()<Iq4Nl>();
    case DType::iq4_xs: return f.template operator()<Iq4Xs>();
    case DType::mxfp4: return f.template operator()<Mxfp4>();
    case DType::iq2_xxs: return f.template operator()<Iq2Xxs>();
    case DType::iq2_xs: return f.template operator()<Iq2Xs>();
    case DType::iq2_s: return f.template operator()<Iq2S>();
    case DType::iq3_xxs: return f.template operator()<Iq3Xxs>();
    case DType::iq3_s: return f.template operator()<Iq3S>();
    case DType::iq1_s: return f.template operator()<Iq1S>();
    case DType::iq1_m: return f.template operator()<Iq1M>();
    default: fail<UnsupportedError>("blocks: {} is not a block type", name_of(dtype));
  }
}

// Values of the codes of iq4_nl and iq4_xs.
constexpr int8_t iq4_codes[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
// Values of the codes of mxfp4: E2M1, doubled.
constexpr int8_t e2m1_codes[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// Fields of 4 bits: in every 2·run values, the first `run` are in the low nibbles of `run` bytes, the others in the high nibbles.
template <int run> int nibble(const uint8_t* bytes, int i) {
  const uint8_t byte = bytes[i / (2 * run) * run + i % run];
  return i % (2 * run) < run ? byte & 15 : byte >> 4;
}
// Fields of 2 bits: in every 128 values, the first 32 are the lowest bits of 32 bytes, and so on upward.
inline int two_bits(const uint8_t* bytes, int i) { return bytes[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3; }
// Fields of 1 bit of 256 values: the first 32 are the lowest bits of 32 bytes, and so on upward.
inline int high_bit(const uint8_t* bytes, int i) { return bytes[i % 32] >> (i / 32) & 1; }

// Setters of the same fields, whose bits must be zero before.
template <int run> void set_nibble(uint8_t* bytes, int i, int q) {
  uint8_t& byte = bytes[i / (2 * run) * run + i % run];
  byte = uint8_t(byte | (i % (2 * run) < run ? q : q << 4));
}
inline void set_two_bits(uint8_t* bytes, int i, int q) {
  uint8_t& byte = bytes[i / 128 * 32 + i % 32];
  byte = uint8_t(byte | q << (i % 128 / 32 * 2));
}
inline void set_high_bit(uint8_t* bytes, int i, int q) { bytes[i % 32] = uint8_t(bytes[i % 32] | q << (i / 32)); }

// q3_k: the scale of values 16j … 16j + 15, with a bias of 32.
inline int q3_k_scale(const uint8_t* scales, int j) { return nibble<8>(scales, j) | (scales[8 + j % 4] >> (j / 4 * 2) & 3) << 4; }
inline void set_q3_k_scale(uint8_t* scales, int j, int q) {
  set_nibble<8>(scales, j, q & 15);
  scales[8 + j % 4] = uint8_t(scales[8 + j % 4] | q >> 4 << (j / 4 * 2));
}
// q4_k, q5_k: scale and minimum of values 32j … 32j + 31.
struct ScaleAndMinimum {
  int scale, minimum;
};
inline ScaleAndMinimum q4_k_scale(const uint8_t* s, int j) {
  if (j < 4) return {s[j] & 63, s[j + 4] & 63};
  return {(s[j + 4] & 15) | s[j - 4] >> 6 << 4, s[j + 4] >> 4 | s[j] >> 6 << 4};
}
inline void set_q4_k_scale(uint8_t* s, int j, ScaleAndMinimum q) {
  if (j < 4) {
    s[j] = uint8_t(s[j] | q.scale);
    s[j + 4] = uint8_t(s[j + 4] | q.minimum);
  } else {
    s[j + 4] = uint8_t((q.scale & 15) | (q.minimum & 15) << 4);
    s[j - 4] = uint8_t(s[j - 4] | q.scale >> 4 << 6);
    s[j] = uint8_t(s[j] | q.minimum >> 4 << 6);
  }
}
// iq4_xs: the scale of values 32j … 32j + 31, with a bias of 32.
inline int iq4_xs_scale(const Iq4Xs& b, int j) {
  return (b.scales_l[j / 2] >> (j % 2 * 4) & 15) | ((b.scales_h[j / 4] >> (j % 4 * 2) & 3) << 4);
}
inline void set_iq4_xs_scale(Iq4Xs& b, int j, int q) {
  b.scales_l[j / 2] = uint8_t(b.scales_l[j / 2] | (q & 15) << (j % 2 * 4));
  b.scales_h[j / 4] = uint8_t(b.scales_h[j / 4] | q >> 4 << (j % 4 * 2));
}

// iq1_m: binary16
inline uint16_t iq1_m_d(const uint16_t* s) { return uint16_t(s[0] >> 12 | (s[1] >> 8 & 0xf0) | (s[2] >> 4 & 0xf00) | (s[3] & 0xf000)); }
// iq1_m: the scale of values 16j … 16j + 15
inline int iq1_m_scale(const uint16_t* s, int j) { return s[j / 4] >> (3 * (j % 4)) & 7; }

}  // namespace hearth::blocks
