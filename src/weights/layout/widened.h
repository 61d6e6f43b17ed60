// Widens weights that are stored in 8-bit floats to their values.
//
//   X of f8_e4m3 or f8_e5m2                          plain: bf16, which represents every such value exactly
//   X.weight, X.scale_weight, X.scale_input          scaled: f32, weight · scale_weight; also spelled weight_scale, input_scale
//
// A scale is one value, or one per row. scale_input is for products of 8-bit factors, which hearth does not compute; it is ignored, as is
// the marker `scaled_fp8`. X.comfy_quant (U8, JSON) names the format of X.weight: float8_e4m3fn or float8_e5m2; a weight in another format
// is unreadable, and the error names the format.
#pragma once

#include "weights/weights.h"

namespace hearth {

// Returns `source` itself if it has no 8-bit floats.
std::shared_ptr<TensorSource> widened(std::shared_ptr<TensorSource> source);

// e4m3: sign, 4 exponent bits (bias 7), 3 mantissa bits; no infinity, NaN if all seven are set (OCP 8-bit floating point, 2023). e5m2: the
// upper half of an f16.
float f8_e4m3_to_f32(uint8_t bits);
float f8_e5m2_to_f32(uint8_t bits);

}  // namespace hearth
