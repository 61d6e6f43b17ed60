// The truth that fast backends are compared with: plain loops in double precision, rounded once at the store.
#pragma once

#include <memory>

#include "core/backend.h"

namespace hearth {

std::unique_ptr<Backend> make_reference_backend(int threads);

}  // namespace hearth
