// Layers whose weights are stored in 8-bit floats, with the tensors that describe them.
//
//   X of f8_e4m3 or f8_e5m2                          plain: the values themselves
//   X.weight, X.scale_weight, X.scale_input          scaled: weight · scale_weight; also spelled weight_scale, input_scale
//
// A scale is one value, or one per row. scale_input is for products of 8-bit factors, which hearth does not compute; it is ignored, as is
// the marker `scaled_fp8`. X.comfy_quant (U8, JSON) names the format of X.weight: float8_e4m3fn or float8_e5m2; a weight in another format
// is unreadable, and the error names the format.
#pragma once

#include "weights/weights.h"

namespace hearth {

// The same tensors as they are stored, with their scales (TensorSource::scale), without the tensors that describe others. Returns `source`
// itself if it has none of those.
std::shared_ptr<TensorSource> with_float8_scales(std::shared_ptr<TensorSource> source);

}  // namespace hearth
