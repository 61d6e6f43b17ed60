// The dtypes of a component's weights, by its files and by what the user requests.
#pragma once

#include <optional>

#include "weights/weights.h"

namespace hearth {

// `requested`, or if absent automatic_types(). If a tensor is of a block type, linear weights stay in their file: blocks are held as they
// are; f16 and bf16 select the dtype of the others. Factors of products with blocks are those of the request, and if absent i16.
WeightTypes component_types(const TensorSource& source, const Backend& backend, const std::optional<WeightTypes>& requested);

}  // namespace hearth
