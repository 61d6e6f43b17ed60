// Helpers for every call of the public interface: time and cancellation.
#pragma once

#include <chrono>
#include <optional>

#include "core/observe.h"

namespace hearth::api {

using Clock = std::chrono::steady_clock;
inline double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// A CancelScope if the caller passed a flag.
struct OptionalCancel {
  explicit OptionalCancel(const std::atomic<bool>* flag) {
    if (flag) scope.emplace(*flag);
  }
  std::optional<CancelScope> scope;
};

}  // namespace hearth::api
