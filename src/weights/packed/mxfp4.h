// MXFP4 as safetensors files have it: 4-bit floats in blocks of 32 inputs with a common power of two (OCP Microscaling Formats 1.0).
//
//   X_blocks u8 [..., N, K/32, 16], X_scales u8 [..., N, K/32]  →  X.weight mxfp4 [..., N, K]
//
// The same values, bit for bit. A byte of X_blocks holds inputs 2j (low) and 2j + 1 (high); our block type, GGUF's, inputs j and j + 16.
#pragma once

#include "core/files/config.h"
#include "weights/weights.h"

namespace hearth {

// Whether "quantization_config" of config.json names it. UnsupportedError for another key with an effect.
bool has_mxfp4(const Config& config);

// The source with `X.weight` in place of the two tensors. WeightError if they are incomplete or inconsistent.
std::shared_ptr<TensorSource> unpacked_mxfp4(std::shared_ptr<TensorSource> source);

}  // namespace hearth
