// Memory plans: the ways in which a run may use memory, and how much each of them takes.
#pragma once

#include "models/diffusion/pass.h"

namespace hearth::models::diffusion {

// The modes that a job of these passes allows, by increasing cost; just one if there is no limit (0). UsageError for an invalid tile size.
std::vector<MemoryPlan> memory_modes(const Facts& facts, const Request& request, std::span<const Pass> passes, int64_t limit);

// The mode of the first of two passes: it releases nothing that the second needs.
MemoryPlan of_first_pass(const MemoryPlan& plan);

// Computes the bytes that `plan` takes by executing the run on the dry twins of its devices.
void measure(MemoryPlan& plan, const Members& members, std::span<const Pass> passes, const Networks& networks);

}  // namespace hearth::models::diffusion
