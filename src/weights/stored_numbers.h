// Reads the values of a short tensor from its file, without a backend.
#pragma once

#include "weights/weights.h"

namespace hearth {

// The dtype must be f64, f32, f16 or bf16. Empty if the tensor does not exist, has another dtype, or its bytes are not accessible
// (TensorSource::stored_bytes).
std::vector<double> stored_numbers(const TensorSource& source, const std::string& name);

}  // namespace hearth
