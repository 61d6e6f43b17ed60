// A dry run: memory without contents, kernels that compute nothing. Running a network on it tells how much memory the
// real run will take at most, without touching any.
#pragma once

#include <memory>

#include "core/backend.h"
#include "core/memory.h"

namespace hearth {

// Counts every tensor and prepared weight in `ledger`, which must outlive the backend and its tensors, as the backend must
// outlive them. Tensors have no contents: Backend::computes() is false.
std::unique_ptr<Backend> make_plan_backend(MemoryLedger& ledger);

}  // namespace hearth
