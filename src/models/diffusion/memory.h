// Memory plans: the ways in which a run may use memory, and how much each of them takes.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "models/diffusion/pass.h"

namespace hearth::models::diffusion {

// The modes that a job of these passes allows, by increasing cost; just one if there is no limit (0). UsageError for an invalid tile size.
std::vector<MemoryPlan> memory_modes(const Facts& facts, const Request& request, std::span<const Pass> passes, int64_t limit);

// For a limit that none of memory_modes() fits: the first of `modes` that fits if blocks of networks are loaded only while the run is there
// (weights/blocks.h), with as many blocks in memory as fit, of small components first; if none does, the one that takes the least.
// `measure` fills in what a plan takes.
MemoryPlan streaming_mode(std::span<const MemoryPlan> modes, std::span<const ComponentReport> components, int64_t limit,
                          const std::function<void(MemoryPlan&)>& measure);

// Decides `plan.on_card`: of denoisers first, then of the other components, as many blocks as a run that takes at most `limit` bytes of the
// card allows. `components`: those that the run uses. UsageError if it does not fit without any block.
void fill_card(MemoryPlan& plan, std::span<const ComponentReport> components, int64_t limit,
               const std::function<void(MemoryPlan&)>& measure);

// The mode of the first of two passes: it releases nothing that the second needs.
MemoryPlan of_first_pass(const MemoryPlan& plan);

// Computes the bytes that `plan` takes by executing the run on the dry twins of its devices.
void measure(MemoryPlan& plan, const Members& members, std::span<const Pass> passes, const Networks& networks, const Changes& changes = {});

}  // namespace hearth::models::diffusion
