// Weights as bitsandbytes stores them.
//
//   4 bits   X.weight [⌈NK/2⌉, 1] bytes of two codes, the first in the high half; X.weight.quant_map f32 [16]; X.weight.absmax, a scale for
//            each run of `blocksize` values in the order of the matrix; X.weight.quant_state.bitsandbytes__nf4 (or __fp4), JSON text:
//            quant_type, blocksize, dtype and shape [N, K]  →  X.weight [N, K],  W = quant_map[code] · absmax.
//            Nested: absmax is u8, and its values are nested_quant_map[absmax] · nested_absmax + nested_offset, with a nested_absmax for
//            each run of nested_blocksize.
//   8 bits   X.weight i8 [N, K], X.SCB f32 [N]  →  X.weight,  W[n, k] = weight · SCB[n] / 127.
//
// The levels of 4 bits are no multiples of a number, so none of our block types has their values: such weights are widened, to the same
// bits as in the library, which are of the dtype that the JSON text names. Weights of 8 bits stay as they are (as q8_0 with one scale per
// row) if rows are whole blocks.
#pragma once

#include "core/files/config.h"
#include "weights/weights.h"

namespace hearth {

// quant_method "bitsandbytes" of config.json. WeightError for parts that are missing or inconsistent; UnsupportedError for another type or
// another key with an effect.
std::shared_ptr<TensorSource> unpacked_bitsandbytes(std::shared_ptr<TensorSource> source, const Config& quantization);

}  // namespace hearth
