// Values of any dtype that weights have in a file, eight at a time, as core/quantized/blocks.cpp decodes them. Needs types.glsl.

// As in core/dtype.h.
const uint F8_E4M3 = 13, F8_E5M2 = 14, Q4_0 = 15, Q4_1 = 16, Q5_0 = 17, Q5_1 = 18, Q8_0 = 19, Q2_K = 20, Q3_K = 21, Q4_K = 22, Q5_K = 23, Q6_K = 24,
           IQ4_NL = 25, IQ4_XS = 26, MXFP4 = 27, IQ2_XXS = 28, IQ2_XS = 29, IQ2_S = 30, IQ3_XXS = 31, IQ3_S = 32, IQ1_S = 33, IQ1_M = 34;

// Where the codebooks are behind their address (VulkanBackend::grids).
const uint IQ2_XXS_GRID = 0, IQ2_XS_GRID = 2048, IQ2_S_GRID = 6144, IQ1_GRID = 14336, IQ3_XXS_GRID = 30720, IQ3_S_GRID = 31744, SIGNS = 33792;

uint byte_at(uint64_t x, uint i) { return uint(Bytes(x).at[i]); }
uint half_at(uint64_t x, uint i) { return uint(Halves(x + i).at[0]); }  // at an even address
int signed_byte(uint b) { return int(b << 24) >> 24; }
// At a multiple of 4, as in codebooks and in blocks whose size is one.
uint word_at(uint64_t x) { return Words(x).at[0]; }
uvec2 two_words(uint64_t x) { return uvec2(Words(x).at[0], Words(x).at[1]); }
// Eight bytes at an even address; at any.
uvec2 eight_bytes(uint64_t x) { return uvec2(half_at(x, 0) | half_at(x, 2) << 16, half_at(x, 4) | half_at(x, 6) << 16); }
uvec2 eight_odd_bytes(uint64_t x) {
  return uvec2(byte_at(x, 0) | byte_at(x, 1) << 8 | byte_at(x, 2) << 16 | byte_at(x, 3) << 24,
               byte_at(x, 4) | byte_at(x, 5) << 8 | byte_at(x, 6) << 16 | byte_at(x, 7) << 24);
}

// Eight values: scale · code + offset, each code a signed byte.
struct Unit {
  float scale, offset;
  uvec2 codes;
};
float value_of(Unit u, uint j) {
  precise const float value = u.scale * float(signed_byte((j < 4 ? u.codes.x : u.codes.y) >> (j % 4 * 8))) + u.offset;
  return value;
}

// Arithmetic on eight bytes at once, without carries between them.
uvec2 nibbles(uvec2 bytes, bool high) { return (high ? bytes >> 4 : bytes) & 0x0f0f0f0fu; }
uvec2 two_bits(uvec2 bytes, uint shift) { return bytes >> shift & 0x03030303u; }
uvec2 one_bit(uvec2 bytes, uint shift) { return bytes >> shift & 0x01010101u; }
// Byte j is bit j.
uvec2 spread(uint bits) {
  return uvec2((bits & 1u) | (bits & 2u) << 7 | (bits & 4u) << 14 | (bits & 8u) << 21,
               (bits >> 4 & 1u) | (bits >> 4 & 2u) << 7 | (bits >> 4 & 4u) << 14 | (bits >> 4 & 8u) << 21);
}
// x − n for bytes x < 128 and n ≤ 128.
uvec2 less(uvec2 x, uint n) { return ((x | 0x80808080u) - n * 0x01010101u) ^ 0x80808080u; }
// The bytes where `signs` has a one negated; bytes of magnitude below 128.
uvec2 with_signs(uvec2 x, uvec2 signs) {
  const uvec2 mask = signs * 0xffu;
  return (x ^ mask) + signs;  // no carry: a byte that is 255 after the change was 0, and grids have no zeros
}

// Entries of iq1, −8, 0 and 8, with 1 added or subtracted.
uvec2 shifted_bytes(uvec2 x, bool negative) {
  const uvec2 biased = x ^ 0x80808080u;  // 120, 128 or 136: no carry
  return (negative ? biased - 0x01010101u : biased + 0x01010101u) ^ 0x80808080u;
}

const int iq4_codes[16] = int[](-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113);
const int e2m1_codes[16] = int[](0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);

uint iq4_word(uint n) {
  return uint(iq4_codes[n & 15u] & 255) | uint(iq4_codes[n >> 8 & 15u] & 255) << 8 | uint(iq4_codes[n >> 16 & 15u] & 255) << 16 |
         uint(iq4_codes[n >> 24] & 255) << 24;
}
uint e2m1_word(uint n) {
  return uint(e2m1_codes[n & 15u] & 255) | uint(e2m1_codes[n >> 8 & 15u] & 255) << 8 | uint(e2m1_codes[n >> 16 & 15u] & 255) << 16 |
         uint(e2m1_codes[n >> 24] & 255) << 24;
}

float f8_e4m3_to_f32(uint bits) {
  const uint exponent = (bits >> 3) & 15u, mantissa = bits & 7u;
  if (exponent == 15 && mantissa == 7) return uintBitsToFloat(0x7fc00000u);
  const float value = exponent == 0 ? float(mantissa) / 512.0 : float(8 + mantissa) * uintBitsToFloat((exponent + 117u) << 23);
  return (bits & 0x80u) != 0 ? -value : value;
}

// 2^(e − 128), also where that is subnormal.
float half_scale(uint e) { return e >= 2 ? uintBitsToFloat((e - 1) << 23) : uintBitsToFloat(e == 1 ? 0x400000u : 0x200000u); }

// Scale and minimum of q4_k and q5_k for values 32j … 32j + 31, from the twelve bytes at s.
uvec2 scale_and_minimum(uint64_t s, uint j) {
  if (j < 4) return uvec2(byte_at(s, j) & 63u, byte_at(s, j + 4) & 63u);
  const uint low = byte_at(s, j + 4);
  return uvec2((low & 15u) | byte_at(s, j - 4) >> 6 << 4, low >> 4 | byte_at(s, j) >> 6 << 4);
}

// Values i … i + 7 of a block of 32 at x; i is a multiple of 8.
Unit of_short_block(uint type, uint64_t x, uint i) {
  const bool high = i >= 16;
  switch (type) {
    case Q4_0: return Unit(f16_to_f32(half_at(x, 0)), 0, less(nibbles(eight_bytes(x + 2 + i % 16), high), 8));
    case Q4_1: return Unit(f16_to_f32(half_at(x, 0)), f16_to_f32(half_at(x, 2)), nibbles(two_words(x + 4 + i % 16), high));
    case Q5_0: {
      const uvec2 codes = nibbles(eight_bytes(x + 6 + i % 16), high) | spread(byte_at(x + 2, i / 8)) << 4;
      return Unit(f16_to_f32(half_at(x, 0)), 0, less(codes, 16));
    }
    case Q5_1: {
      const uvec2 codes = nibbles(two_words(x + 8 + i % 16), high) | spread(byte_at(x + 4, i / 8)) << 4;
      return Unit(f16_to_f32(half_at(x, 0)), f16_to_f32(half_at(x, 2)), codes);
    }
    case Q8_0: return Unit(f16_to_f32(half_at(x, 0)), 0, eight_bytes(x + 2 + i));
    case IQ4_NL: {
      const uvec2 n = nibbles(eight_bytes(x + 2 + i % 16), high);
      return Unit(f16_to_f32(half_at(x, 0)), 0, uvec2(iq4_word(n.x), iq4_word(n.y)));
    }
    default: {  // MXFP4
      const uvec2 n = nibbles(eight_odd_bytes(x + 1 + i % 16), high);
      return Unit(half_scale(byte_at(x, 0)), 0, uvec2(e2m1_word(n.x), e2m1_word(n.y)));
    }
  }
}

// The same of a block of 256.
Unit of_k_block(uint type, uint64_t x, uint i) {
  const uint64_t two = i / 128 * 32 + i % 32;  // where fields of two bits begin
  const uint two_shift = i % 128 / 32 * 2;
  switch (type) {
    case Q2_K: {
      const uint s = byte_at(x, i / 16);
      precise const float scale = f16_to_f32(half_at(x, 80)) * float(s & 15u), minimum = f16_to_f32(half_at(x, 82)) * float(s >> 4);
      return Unit(scale, -minimum, two_bits(two_words(x + 16 + two), two_shift));
    }
    case Q3_K: {
      const uint j = i / 16, low = byte_at(x, 96 + j % 8) >> (j / 8 * 4) & 15u, s = low | (byte_at(x, 104 + j % 4) >> (j / 4 * 2) & 3u) << 4;
      const uvec2 codes = two_bits(eight_bytes(x + 32 + two), two_shift) | one_bit(eight_bytes(x + i % 32), i / 32) << 2;
      return Unit(f16_to_f32(half_at(x, 108)) * float(int(s) - 32), 0, less(codes, 4));
    }
    case Q4_K: {
      const uvec2 s = scale_and_minimum(x + 4, i / 32);
      precise const float scale = f16_to_f32(half_at(x, 0)) * float(s.x), minimum = f16_to_f32(half_at(x, 2)) * float(s.y);
      return Unit(scale, -minimum, nibbles(two_words(x + 16 + i / 64 * 32 + i % 32), i % 64 >= 32));
    }
    case Q5_K: {
      const uvec2 s = scale_and_minimum(x + 4, i / 32);
      precise const float scale = f16_to_f32(half_at(x, 0)) * float(s.x), minimum = f16_to_f32(half_at(x, 2)) * float(s.y);
      const uvec2 codes = nibbles(two_words(x + 48 + i / 64 * 32 + i % 32), i % 64 >= 32) | one_bit(two_words(x + 16 + i % 32), i / 32) << 4;
      return Unit(scale, -minimum, codes);
    }
    case Q6_K: {
      const uvec2 codes = nibbles(eight_bytes(x + i / 128 * 64 + i % 64), i % 128 >= 64) | two_bits(eight_bytes(x + 128 + two), two_shift) << 4;
      return Unit(f16_to_f32(half_at(x, 208)) * float(signed_byte(byte_at(x, 192 + i / 16))), 0, less(codes, 32));
    }
    default: {  // IQ4_XS
      const uint j = i / 32, s = (byte_at(x, 4 + j / 2) >> (j % 2 * 4) & 15u) | (byte_at(x, 2 + j / 4) >> (j % 4 * 2) & 3u) << 4;
      const uvec2 n = nibbles(two_words(x + 8 + i / 32 * 16 + i % 16), i % 32 >= 16);
      return Unit(f16_to_f32(half_at(x, 0)) * float(int(s) - 32), 0, uvec2(iq4_word(n.x), iq4_word(n.y)));
    }
  }
}

// The same of the types with codebooks, whose entries have eight values, those of iq3 four.
Unit of_grid_block(uint type, uint64_t x, uint i, uint64_t grids) {
  const uint e = i / 8;
  switch (type) {
    case IQ2_XXS: {
      const uint64_t group = x + 2 + i / 32 * 8;
      const uint t = half_at(group, 4) | half_at(group, 6) << 16, signs = byte_at(grids + SIGNS, t >> (7 * (e % 4)) & 127u);
      const uvec2 entry = two_words(grids + IQ2_XXS_GRID + 8 * byte_at(group, e % 4));
      return Unit(f16_to_f32(half_at(x, 0)) * float(2 * (t >> 28) + 1) / 8, 0, with_signs(entry, spread(signs)));
    }
    case IQ2_XS: {
      const uint w = half_at(x, 2 + 2 * e), scale = byte_at(x, 66 + e / 4) >> (e / 2 % 2 * 4) & 15u;
      const uvec2 entry = two_words(grids + IQ2_XS_GRID + 8 * (w & 511u));
      return Unit(f16_to_f32(half_at(x, 0)) * float(2 * scale + 1) / 8, 0, with_signs(entry, spread(byte_at(grids + SIGNS, w >> 9))));
    }
    case IQ2_S: {
      const uint index = byte_at(x, 2 + e) | (byte_at(x, 66 + e / 4) >> (e % 4 * 2) & 3u) << 8;
      const uint scale = byte_at(x, 74 + e / 4) >> (e / 2 % 2 * 4) & 15u;
      const uvec2 entry = two_words(grids + IQ2_S_GRID + 8 * index);
      return Unit(f16_to_f32(half_at(x, 0)) * float(2 * scale + 1) / 8, 0, with_signs(entry, spread(byte_at(x, 34 + e))));
    }
    case IQ3_XXS: {
      const uint q = i / 4, t = half_at(x, 66 + q / 8 * 4) | half_at(x, 68 + q / 8 * 4) << 16;
      const uint signs = byte_at(grids + SIGNS, t >> (q / 2 % 4 * 7) & 127u);
      const uvec2 entries = uvec2(word_at(grids + IQ3_XXS_GRID + 4 * byte_at(x, 2 + q)), word_at(grids + IQ3_XXS_GRID + 4 * byte_at(x, 3 + q)));
      return Unit(f16_to_f32(half_at(x, 0)) * float(2 * (t >> 28) + 1) / 4, 0, with_signs(entries, spread(signs)));
    }
    case IQ3_S: {
      const uint q = i / 4, high = byte_at(x, 66 + q / 8) >> (q % 8), scale = byte_at(x, 106 + q / 16) >> (q / 8 % 2 * 4) & 15u;
      const uint first = byte_at(x, 2 + q) | (high & 1u) << 8, second = byte_at(x, 3 + q) | (high >> 1 & 1u) << 8;
      const uvec2 entries = uvec2(word_at(grids + IQ3_S_GRID + 4 * first), word_at(grids + IQ3_S_GRID + 4 * second));
      return Unit(f16_to_f32(half_at(x, 0)) * float(2 * scale + 1), 0, with_signs(entries, spread(byte_at(x, 74 + e))));
    }
    case IQ1_S: {
      const uint h = half_at(x, 34 + e / 4 * 2), index = byte_at(x, 2 + e) | (h >> (e % 4 * 3) & 7u) << 8;
      const uvec2 entry = two_words(grids + IQ1_GRID + 8 * index);
      return Unit(f16_to_f32(half_at(x, 0)) * float(2 * (h >> 12 & 7u) + 1) / 8, 0, shifted_bytes(entry, h >> 15 != 0));
    }
    default: {  // IQ1_M
      const uint h = byte_at(x, 32 + e / 2) >> (e % 2 * 4), index = byte_at(x, e) | (h & 7u) << 8, k = e / 2;
      const uint s0 = half_at(x, 48), s1 = half_at(x, 50), s2 = half_at(x, 52), s3 = half_at(x, 54);
      const uint d = s0 >> 12 | (s1 >> 8 & 0xf0u) | (s2 >> 4 & 0xf00u) | (s3 & 0xf000u), scale = half_at(x, 48 + k / 4 * 2) >> (3 * (k % 4)) & 7u;
      const uvec2 entry = two_words(grids + IQ1_GRID + 8 * index);
      return Unit(f16_to_f32(d) * float(2 * scale + 1) / 8, 0, shifted_bytes(entry, (h & 8u) != 0));
    }
  }
}

const uint block_bytes[20] = uint[](18, 20, 22, 24, 34, 84, 110, 144, 176, 210, 18, 136, 17, 66, 74, 82, 98, 110, 50, 56);  // from Q4_0 on
bool has_short_blocks(uint type) { return type <= Q8_0 || type == IQ4_NL || type == MXFP4; }

// Bytes of a row of `values` values.
uint64_t row_bytes(uint type, uint values) {
  if (type < Q4_0) return uint64_t(values) * (type == F32 ? 4 : type <= BF16 ? 2 : 1);
  return uint64_t(values / (has_short_blocks(type) ? 32 : 256)) * block_bytes[type - Q4_0];
}

// Values i … i + 7 of the row at x, of a block type; i is a multiple of 8.
Unit unit_of(uint type, uint64_t x, uint i, uint64_t grids) {
  const uint bytes = block_bytes[type - Q4_0];
  if (has_short_blocks(type)) return of_short_block(type, x + i / 32 * bytes, i % 32);
  const uint64_t block = x + i / 256 * bytes;
  return type >= IQ2_XXS ? of_grid_block(type, block, i % 256, grids) : of_k_block(type, block, i % 256);
}

// Value i of the row at x.
float stored(uint type, uint64_t x, uint i, uint64_t grids) {
  if (type <= BF16) return read(type, x, i);
  if (type == F8_E4M3) return f8_e4m3_to_f32(byte_at(x, i));
  if (type == F8_E5M2) return f16_to_f32(byte_at(x, i) << 8);
  return value_of(unit_of(type, x, i & ~7u, grids), i % 8);
}
