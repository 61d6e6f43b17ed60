#include "core/side.h"

namespace hearth {
namespace {
thread_local std::optional<Side> side_in_use;
thread_local bool values_last = false;
}  // namespace

SideScope::SideScope(std::optional<Side> side, bool lasting) : outer_(side_in_use), outer_lasts_(values_last) {
  if (side) side_in_use = side, values_last = lasting;
}
SideScope::~SideScope() { side_in_use = outer_, values_last = outer_lasts_; }
std::optional<Side> SideScope::current() { return side_in_use; }
bool SideScope::lasts() { return values_last; }

}  // namespace hearth
