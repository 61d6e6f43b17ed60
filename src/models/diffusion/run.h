// Execution of a pass, from prompts to images.
#pragma once

#include "models/diffusion/pass.h"

namespace hearth::models::diffusion {

// Runs as `plan` says, with its networks, which may be those of a dry run. Phases "load", "encode", "sample", "decode". NonFiniteError
// names component and step; Canceled.
ImageResult run(const Members& members, const Pass& pass, const MemoryPlan& plan, Holding& networks, const OnProgress& progress);

}  // namespace hearth::models::diffusion
