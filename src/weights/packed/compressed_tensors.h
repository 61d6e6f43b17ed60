// Weights as compressed-tensors (llm-compressor) stores them.
//
//   pack-quantized   X.weight_packed i32 [N, ⌈K·b/32⌉], codes + 2^(b−1), lowest bits first; X.weight_scale [N, G] ([N, 1], [1]);
//                    X.weight_zero_point, absent if symmetric: i32 [⌈N·b/32⌉, G], packed along N, or i8 [N, G]; X.weight_shape [2];
//                    X.weight_g_idx [K], absent unless activations were ordered  →  X.weight, W = scale · (code − zero)
//   int-quantized    X.weight i8 [N, K], X.weight_scale, X.weight_zero_point  →  the same
//   float-quantized  X.weight f8_e4m3 [N, K], X.weight_scale [1], [N, 1] or one for each block  →  W = weight · scale
//
// Symmetric i8 stays as it is (as q8_0 with one scale per row), and so do 8-bit floats, unless they have scales of blocks, which widen them
// (block_float8.h). Other integers become the block type that has the same values (grouped_weights.h). Scales of activations and of a KV
// cache are left out: hearth rounds neither to 8 bits.
#pragma once

#include "core/files/config.h"
#include "weights/weights.h"

namespace hearth {

// quant_method "compressed-tensors" of config.json. WeightError for parts that are missing or inconsistent; UnsupportedError for another
// format, numbers of bits other than 4 and 8, sparse weights, transforms, or another key with an effect.
std::shared_ptr<TensorSource> unpacked_compressed_tensors(std::shared_ptr<TensorSource> source, const Config& model,
                                                          const Config& quantization);

}  // namespace hearth
