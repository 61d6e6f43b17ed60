// A device like a GPU, without a GPU: another backend with separate memory and a queue. Outside access to its memory crashes (the
// addresses are not mapped), and ops run later, on a separate thread: a result that is read without waiting is not
// there yet.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "core/backend.h"

namespace hearth::test {

// Devices that fail for good: of those made with the same faults, the first `lost` ones.
struct Faults {
  std::atomic<int> made = 0, lost = 0;
};

struct DetachedOptions {
  int threads = 2;
  std::string inner = "reference";  // that computes behind it, and another that is its host
  int64_t free_memory = 0;          // as it says (Backend::free_memory)
  std::shared_ptr<Faults> faults = {};
  bool at_once = false;  // ops run before they return, so that the memory in use does not depend on time
};
std::unique_ptr<Backend> make_detached_backend(const DetachedOptions& options);
// From then on models can be opened on a device of this name.
void add_detached_backend(const std::string& name = "detached", const DetachedOptions& options = {});

}  // namespace hearth::test
