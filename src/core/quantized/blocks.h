// The block types of GGUF (dtype.h): values out of blocks, and blocks out of values. Layouts: ggml's, as its files have them
// (core/quantized/block_layouts.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"

namespace hearth {

// `values`, a multiple of the block, from x (at any address) to y. The same bits as the reference reader (python package gguf):
// every product is exact in f32, a sum is rounded once.
// UnsupportedError for a type that is not blocked.
void decode_blocks(DType dtype, const std::byte* x, int64_t values, float* y);

// How many of the values that decode_blocks would write are NaN or infinite. Only scales are looked at, where they tell.
// UnsupportedError for a type that is not blocked.
int64_t non_finite_in_blocks(DType dtype, const std::byte* x, int64_t values);

// The other way round. q4_0, q4_1, q5_0, q5_1, q8_0 and mxfp4: the same bits as the reference quantizer (gguf).
// The others: scales found by search (core/quantized/block_fit.h), about 75 ns for a value.
// A block that holds a NaN or an infinity decodes to NaN throughout (mxfp4, which has none: to infinity), and one whose scale leaves
// binary16 to what is no number: non_finite_in_blocks finds both.
// UnsupportedError for another type.
void encode_blocks(DType dtype, const float* x, int64_t values, std::byte* y);

}  // namespace hearth
