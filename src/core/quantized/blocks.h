// Dequantization and quantization of GGUF's block types (dtype.h), in ggml's layouts (core/quantized/block_layouts.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/dtype.h"

namespace hearth {

// Dequantizes `values` values, a multiple of the block, from x (at any address) to y. Bit-identical to the reference reader (Python
// package gguf): every product is exact in f32, and a sum is rounded once.
// UnsupportedError for a type that is not blocked.
void decode_blocks(DType dtype, const std::byte* x, int64_t values, float* y);

// Number of values that decode_blocks would write as NaN or infinity. Reads only the scales if they determine it.
// UnsupportedError for a type that is not blocked.
int64_t non_finite_in_blocks(DType dtype, const std::byte* x, int64_t values);

// Quantizes. q4_0, q4_1, q5_0, q5_1, q8_0 and mxfp4 are bit-identical to the reference quantizer (gguf). The others search for scales
// (core/quantized/block_fit.h), about 75 ns per value.
// A block that contains NaN or infinity dequantizes to NaN throughout (mxfp4, which has no NaN, to infinity), and one whose scale exceeds
// binary16 to non-finite values: non_finite_in_blocks detects both.
// UnsupportedError for another type; the types of a codebook, iq1_s to iq3_s, can only be read.
// `importance`: of each column of a row, whole blocks, for values that are whole rows; or empty. Types that do not search ignore it.
void encode_blocks(DType dtype, const float* x, int64_t values, std::byte* y, std::span<const float> importance = {});
bool uses_importance(DType dtype);

}  // namespace hearth
