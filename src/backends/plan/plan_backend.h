// A device that only counts: to read a checkpoint's headers with, to list what a network asks for, and to sum up the tensors of a
// run whatever device will run it (Backend::dry_twin() knows what a certain one takes).
#pragma once

#include <memory>

#include "core/backend.h"
#include "core/memory.h"

namespace hearth {

// Counts every tensor and prepared weight in `ledger`, which must outlive the backend and its tensors, as the backend must
// outlive them. Tensors have no contents: Backend::computes() is false.
std::unique_ptr<Backend> make_plan_backend(MemoryLedger& ledger);

}  // namespace hearth
