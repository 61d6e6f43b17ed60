#include "core/observe.h"

#include "core/backend.h"

namespace hearth {
namespace {

thread_local ObserverScope* innermost = nullptr;
thread_local const std::atomic<bool>* cancel_flag = nullptr;

}  // namespace

ObserverScope::ObserverScope(Observer& observer) : observer_(observer), outer_(innermost) { innermost = this; }
ObserverScope::~ObserverScope() { innermost = outer_; }

bool observed() { return innermost != nullptr; }

// A dry run has shapes but no numbers: nothing that an observer could look at.
void tap(std::string_view path, const Tensor& x) {
  if (innermost && !x.backend().computes()) return;
  for (ObserverScope* scope = innermost; scope; scope = scope->outer_) scope->observer_.on_tap(path, x);
}

void notify(const OpEvent& event) {
  if (innermost && !event.y.backend().computes()) return;
  for (ObserverScope* scope = innermost; scope; scope = scope->outer_) scope->observer_.on_op(event);
}

CancelScope::CancelScope(const std::atomic<bool>& flag) : outer_(cancel_flag) { cancel_flag = &flag; }
CancelScope::~CancelScope() { cancel_flag = outer_; }

void check_cancelled() {
  if (cancel_flag && cancel_flag->load(std::memory_order_relaxed)) throw Cancelled();
}

}  // namespace hearth
