// The dtypes that a Precision selects on a backend.
#pragma once

#include "core/backend.h"
#include "hearth/hearth.h"
#include "weights/weights.h"

namespace hearth::api {

// nullopt for `automatic` (weights/weights.h: automatic_types). bf16 weights are multiplied as bf16 if the backend supports it, else
// widened.
std::optional<WeightTypes> weight_types(Precision precision, const Backend& device);

// The same for weights that stay in their file. f16 and bf16 select another dtype than theirs, except for block types, which keep theirs.
// Products widen the weights, so that results equal those of f32 weights whatever the storage. Blocks and bf16 are multiplied as bf16 only
// if requested and supported by the backend; otherwise, and under `automatic`, blocks are multiplied as the integers that they store.
WeightTypes held_types(Precision precision, const Backend& device);

}  // namespace hearth::api
