// A device as a GPU is one, without a GPU: the reference backend behind memory of its own and a queue. Who looks at its memory from outside
// dies of it (the addresses are not mapped), and its work is done later, on a thread of its own: who reads a result without waiting finds
// nothing there.
#pragma once

#include <memory>

#include "core/backend.h"

namespace hearth::test {

std::unique_ptr<Backend> make_detached_backend(int threads);
void add_detached_backend();  // models can be opened with the device "detached" from then on

}  // namespace hearth::test
