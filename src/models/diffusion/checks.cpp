#include "models/diffusion/checks.h"

#include "backends/plan/plan_backend.h"
#include "core/error.h"

namespace hearth::models::diffusion {

Checks::Checks(const Checkpoint& checkpoint, const std::string& variant)
    : checkpoint_(checkpoint), variant_(variant), device_(make_plan_backend(ledger_)) {}

void Checks::attempt(std::string_view component, const std::function<void()>& step) {
  checks_.push_back({std::string(component), {}});
  try {
    step();
  } catch (const Error& e) { checks_.back().problem = e.what(); }
}

Weights Checks::names_of(std::string_view component) {
  return Weights(checkpoint_.tensors(component, variant_), *device_, {.ignore = checkpoint_.ignored(component)}, Weights::Reading::names);
}

std::vector<ComponentCheck> Checks::finish(const std::function<void()>& whole) {
  attempt("checkpoint", whole);
  for (size_t i = 0; i + 1 < checks_.size(); ++i)
    if (checks_[i].problem == checks_.back().problem) checks_.back().problem.clear();
  return std::move(checks_);
}

}  // namespace hearth::models::diffusion
