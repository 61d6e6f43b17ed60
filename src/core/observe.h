// Observation of a run: taps report every block's output under its path in the checkpoint ("down_blocks.0.resnets.1"), block scopes
// report when a block starts and ends, op events report what ran. Without an observer nothing is collected. An observer is active while
// its ObserverScope lives, and is removed on exceptions too.
#pragma once

#include <atomic>
#include <string_view>

#include "core/tensor.h"

namespace hearth {

struct OpEvent {
  std::string_view op;         // "linear", "conv2d", …
  std::string_view weight;     // its weight's name, or ""
  const Tensor& x;             // first input
  const Tensor& y;             // output
  double seconds = 0;          // wall time; the first of several products (ops::linears) has the time of all
  double flop = 0;             // multiplications and additions of a product; 0 for others
  DType factors = DType::f32;  // of a product
  int64_t bytes = 0;           // activations read and written; the extra inputs of epilogues are left out
  int64_t weight_bytes = 0;    // of a product's weight, as held in memory
};

class Observer {
 public:
  virtual ~Observer() = default;
  // Dry runs (Backend::computes() is false) have shapes but no values. Only an observer that returns true receives their ops and taps.
  virtual bool watches_dry_runs() const { return false; }
  virtual void on_op(const OpEvent&) {}
  virtual void on_tap(std::string_view /*path*/, const Tensor&) {}
  // A block starts; the most recently started block ends. Dry runs report blocks too. on_leave() must not throw.
  virtual void on_enter(std::string_view /*path*/) {}
  virtual void on_leave() {}
};

// Adds an observer to the current thread. The observer that was added last is notified first.
class ObserverScope {
 public:
  explicit ObserverScope(Observer& observer);
  ~ObserverScope();
  ObserverScope(const ObserverScope&) = delete;
  ObserverScope& operator=(const ObserverScope&) = delete;

 private:
  friend bool observed();
  friend void tap(std::string_view, const Tensor&);
  friend void notify(const OpEvent&);
  friend class BlockScope;
  Observer& observer_;
  ObserverScope* outer_;
};

bool observed();
void tap(std::string_view path, const Tensor& x);
void notify(const OpEvent& event);

// Everything that runs while it lives belongs to the block. Blocks nest; observers added inside a block are notified of its end, too.
class BlockScope {
 public:
  explicit BlockScope(std::string_view path);
  ~BlockScope();
  BlockScope(const BlockScope&) = delete;
  BlockScope& operator=(const BlockScope&) = delete;
};

// y = run() as a block of its own, with a tap on y.
template <class F> Tensor in_block(std::string_view path, F run) {
  const BlockScope block(path);
  Tensor y = run();
  tap(path, y);
  return y;
}

// While a scope lives, Ctrl-C and `cancel()` reach every op of the thread: check_canceled() throws Canceled.
class CancelScope {
 public:
  explicit CancelScope(const std::atomic<bool>& flag);
  ~CancelScope();
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

 private:
  const std::atomic<bool>* outer_;
};
void check_canceled();

}  // namespace hearth
