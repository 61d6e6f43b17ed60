// What a Precision means on a backend.
#pragma once

#include "core/backend.h"
#include "hearth/hearth.h"
#include "weights/weights.h"

namespace hearth::api {

// Nothing for `automatic` (weights/weights.h: automatic_types). bf16 weights are multiplied as bf16 where the backend can, else widened.
std::optional<WeightTypes> weight_types(Precision precision, const Backend& device);

// The same for weights that stay in their file: f16 and bf16 ask for another type than theirs, which blocks keep. Products widen them,
// which gives the numbers of f32 whatever they are stored as; blocks and bf16 are multiplied as bf16 only where it is asked for and the
// backend can. Under `automatic`, and where it cannot, blocks are multiplied as the integers that they hold.
WeightTypes held_types(Precision precision, const Backend& device);

}  // namespace hearth::api
