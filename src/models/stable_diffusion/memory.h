// How a run may use memory: the ways there are, and what each of them takes.
#pragma once

#include "models/stable_diffusion/networks.h"
#include "models/stable_diffusion/resolve.h"

namespace hearth::models::stable_diffusion {

// The modes that a request allows, in order of cost; one where there is no limit (0). UsageError for tiles that cannot be.
std::vector<MemoryPlan> memory_modes(const StableDiffusionConfig& config, const ImageRequest& request, const Resolved& resolved,
                                     int64_t limit);

// Fills in the bytes that `plan` takes: the run itself, on the device's dry twin.
void measure(MemoryPlan& plan, const StableDiffusionConfig& config, const ImageRequest& request, const Resolved& resolved,
             const Networks& networks, Backend& device);

}  // namespace hearth::models::stable_diffusion
