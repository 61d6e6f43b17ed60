// The checks that `hearth inspect` runs: each component is built by itself, without its data.
#pragma once

#include <functional>

#include "models/image_family.h"

namespace hearth::models::diffusion {

class Checks {
 public:
  Checks(const Checkpoint& checkpoint, const std::string& variant);

  // Records an exception of `step` as the component's problem.
  void attempt(std::string_view component, const std::function<void()>& step);
  // read: → the component's configuration; make: Scope, configuration → its network.
  template <class Read, class Make> void builds(std::string_view component, Read read, Make make) {
    attempt(component, [&] {
      const auto config = read();
      Weights weights = names_of(component);
      make(Scope(weights), config);
      weights.finish();
    });
  }
  // Checks that concern several components, at the end, under `whole`. A problem of one component is reported once.
  std::vector<ComponentCheck> finish(const std::function<void()>& whole);

 private:
  Weights names_of(std::string_view component);

  const Checkpoint& checkpoint_;
  std::string variant_;
  MemoryLedger ledger_;
  std::unique_ptr<Backend> device_;
  std::vector<ComponentCheck> checks_;
};

}  // namespace hearth::models::diffusion
