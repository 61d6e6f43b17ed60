// Weights of compact types (block types, 8-bit floats) as the values that they stand for.
#pragma once

#include "weights/weights.h"

namespace hearth {

// Whether every row of the last axis consists of whole blocks: only then can parts of a tensor be viewed, and its rows be multiplied in
// place.
inline bool has_whole_rows(DType dtype, const Shape& shape) {
  return shape.rank() > 0 ? shape[-1] % block_of(dtype).values == 0 : !is_blocked(dtype);
}

// x · scale on the backend's host, with the values of core/quantized/blocks.h and core/dtype.h: f32, or bf16 for 8-bit floats without a
// scale, which it represents. `scale`: TensorSource::scale(). x itself if its type is not compact.
Tensor dequantized(const Tensor& x, const Tensor& scale, Backend& backend);

// Every tensor of a source dequantized. Returns `source` itself if it has no compact types.
std::shared_ptr<TensorSource> dequantized(std::shared_ptr<TensorSource> source);

}  // namespace hearth
