// Weights stored in 8-bit floats, shown as the numbers that they stand for.
//
//   X of f8_e4m3 or f8_e5m2                          plain: bf16, which holds every such number
//   X.weight, X.scale_weight, X.scale_input          scaled: f32, weight · scale_weight; also spelled weight_scale, input_scale
//
// A scale is one number or one for each row. scale_input is for products of 8-bit factors, which hearth does not form; it is left aside
// like the marker `scaled_fp8`. X.comfy_quant (U8, JSON) names the format of X.weight: float8_e4m3fn and float8_e5m2 are these; a weight of
// another format is unreadable by its name.
#pragma once

#include "weights/weights.h"

namespace hearth {

// The source itself where nothing in it is stored so.
std::shared_ptr<TensorSource> widened(std::shared_ptr<TensorSource> source);

// e4m3: sign, 4 bits of exponent (bias 7), 3 of mantissa; no infinity, NaN where all seven are set (OCP 8-bit floating point, 2023). e5m2:
// the upper half of an f16.
float f8_e4m3_to_f32(uint8_t bits);
float f8_e5m2_to_f32(uint8_t bits);

}  // namespace hearth
