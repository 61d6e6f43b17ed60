#include "weights/weights.h"

namespace hearth {

bool KnownTensors::checked(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return checked_.contains(name);
}

void KnownTensors::add_checked(const std::string& name) {
  const std::lock_guard lock(mutex_);
  checked_.insert(name);
}

std::optional<bool> KnownTensors::spoiled_by_f16(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = spoiled_.find(name);
  return found == spoiled_.end() ? std::nullopt : std::optional(found->second);
}

void KnownTensors::add_spoiled_by_f16(const std::string& name, bool spoiled) {
  const std::lock_guard lock(mutex_);
  spoiled_[name] = spoiled;
}

std::vector<std::string> KnownTensors::kept_wider() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, spoiled] : spoiled_)
    if (spoiled) names.push_back(name);
  return names;
}

}  // namespace hearth
