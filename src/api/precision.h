// What a Precision means on a backend.
#pragma once

#include "core/backend.h"
#include "hearth/hearth.h"
#include "weights/weights.h"

namespace hearth::api {

// Nothing for `automatic` (weights/weights.h: automatic_types). bf16 weights are multiplied as bf16 where the backend can, else widened.
std::optional<WeightTypes> weight_types(Precision precision, const Backend& device);

}  // namespace hearth::api
