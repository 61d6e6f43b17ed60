// How a run may use memory: the ways there are, and what each of them takes.
#pragma once

#include "models/diffusion/pass.h"

namespace hearth::models::diffusion {

// The modes that a job of these passes allows, in order of cost; one where there is no limit (0). UsageError for tiles that cannot be.
std::vector<MemoryPlan> memory_modes(const CodecConfig& codec, const Request& request, std::span<const Pass> passes, int64_t limit);

// How the first pass of two goes: it lets go of nothing that the second needs.
MemoryPlan of_first_pass(const MemoryPlan& plan);

// Fills in the bytes that `plan` takes: the run itself, on the dry twins of its devices.
void measure(MemoryPlan& plan, const Members& members, std::span<const Pass> passes, const Networks& networks);

}  // namespace hearth::models::diffusion
