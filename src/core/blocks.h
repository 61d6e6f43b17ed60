// The block types of GGUF (dtype.h): values out of blocks, and blocks out of values. Layouts: ggml's, as its files have them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"

namespace hearth {

// `values`, a multiple of the block, from x to y. Exact up to one f32 rounding for each operation, as the reference reader does it.
// UnsupportedError for a type that is not blocked.
void decode_blocks(DType dtype, const std::byte* x, int64_t values, float* y);

// The other way round, as the reference quantizer does it.
void encode_blocks(DType dtype, const float* x, int64_t values, std::byte* y);

}  // namespace hearth
