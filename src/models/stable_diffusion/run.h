// A run, from prompts to pictures.
#pragma once

#include "models/stable_diffusion/networks.h"
#include "models/stable_diffusion/resolve.h"

namespace hearth::models::stable_diffusion {

// As `plan` says: on `device`, which may be a dry twin, with its networks. `resolved` is that of `request`. Phases "load", "encode",
// "sample", "decode". NonFiniteError names component and step; Cancelled.
ImageResult run(const StableDiffusionConfig& config, const ImageRequest& request, const Resolved& resolved, const MemoryPlan& plan,
                Backend& device, Networks& networks, const OnProgress& progress);

}  // namespace hearth::models::stable_diffusion
