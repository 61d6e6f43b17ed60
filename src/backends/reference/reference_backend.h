// The backend that fast backends are compared with: plain loops in double precision, rounded once at the store.
#pragma once

#include <memory>

#include "core/backend.h"

namespace hearth {

// `inner`: Backend::inner_type(), whatever reads a result.
std::unique_ptr<Backend> make_reference_backend(int threads, std::optional<DType> inner = {});

}  // namespace hearth
