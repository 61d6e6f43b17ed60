// A device that only counts: for reading checkpoint headers, listing the tensors that a network needs, and adding up the tensors of a
// run independently of the device (Backend::dry_twin() gives the memory of a particular device).
#pragma once

#include <memory>

#include "core/backend.h"
#include "core/memory.h"

namespace hearth {

// Counts every tensor and prepared weight in `ledger`. The ledger must outlive the backend and its tensors, and the backend must
// outlive its tensors. Tensors have no contents: Backend::computes() is false.
std::unique_ptr<Backend> make_plan_backend(MemoryLedger& ledger);

}  // namespace hearth
