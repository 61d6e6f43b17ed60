// The values of a short tensor as its file holds them, for whoever reads a file without a backend.
#pragma once

#include "weights/weights.h"

namespace hearth {

// Of f64, f32, f16 or bf16; empty where the tensor is not there, has another type, or lies where it cannot be seen (stored_bytes).
std::vector<double> stored_numbers(const TensorSource& source, const std::string& name);

}  // namespace hearth
