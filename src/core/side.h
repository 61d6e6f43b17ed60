// A device may be a card that shares a network with its host (backends/split). Each weight is then on one side, which the code that
// loads it names: a scope for what the calling thread prepares and uploads. Other devices ignore it.
#pragma once

#include <optional>

namespace hearth {

enum class Side { card, host };

class SideScope {
 public:
  // nullopt: changes nothing. lasting: the values of tensors that are uploaded meanwhile never change, and their memory is there as long as
  // any tensor of it, so that the host's side need not copy them.
  explicit SideScope(std::optional<Side> side, bool lasting = false);
  ~SideScope();
  SideScope(const SideScope&) = delete;
  SideScope& operator=(const SideScope&) = delete;

  static std::optional<Side> current();
  static bool lasts();

 private:
  const std::optional<Side> outer_;
  const bool outer_lasts_;
};

}  // namespace hearth
