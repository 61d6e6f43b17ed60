// The block types of GGUF (dtype.h): values out of blocks, and blocks out of values. Layouts: ggml's, as its files have them
// (core/block_layouts.h).
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

// The other way round, as the reference quantizer does it.
// UnsupportedError for a type that hearth does not write.
void encode_blocks(DType dtype, const float* x, int64_t values, std::byte* y);

}  // namespace hearth
