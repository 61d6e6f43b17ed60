// A device like a GPU, without a GPU: the reference backend with separate memory and a queue. Outside access to its memory crashes (the
// addresses are not mapped), and ops run later, on a separate thread: a result that is read without waiting is not
// there yet.
#pragma once

#include <memory>

#include "core/backend.h"

namespace hearth::test {

std::unique_ptr<Backend> make_detached_backend(int threads);
void add_detached_backend();  // from then on models can be opened on the device "detached"

}  // namespace hearth::test
