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

void tap(std::string_view path, const Tensor& x) {
  for (ObserverScope* scope = innermost; scope; scope = scope->outer_)
    if (x.backend().computes() || scope->observer_.watches_dry_runs()) scope->observer_.on_tap(path, x);
}

void notify(const OpEvent& event) {
  for (ObserverScope* scope = innermost; scope; scope = scope->outer_)
    if (event.y.backend().computes() || scope->observer_.watches_dry_runs()) scope->observer_.on_op(event);
}

BlockScope::BlockScope(std::string_view path) {
  for (ObserverScope* scope = innermost; scope; scope = scope->outer_) scope->observer_.on_enter(path);
}
BlockScope::~BlockScope() {
  for (ObserverScope* scope = innermost; scope; scope = scope->outer_) scope->observer_.on_leave();
}

CancelScope::CancelScope(const std::atomic<bool>& flag) : outer_(cancel_flag) { cancel_flag = &flag; }
CancelScope::~CancelScope() { cancel_flag = outer_; }

void check_canceled() {
  if (cancel_flag && cancel_flag->load(std::memory_order_relaxed)) throw Canceled();
}

}  // namespace hearth
