// Looking on: taps name every block's output by its path in the checkpoint ("down_blocks.0.resnets.1"), block scopes say from when
// to when it ran, op events tell what ran. Nobody pays who does not look. An observer lives as long as its ObserverScope, also when
// something throws.
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
  double seconds = 0;          // wall time; of products done together (ops::linears) all of it with the first
  double flop = 0;             // multiplications and additions of a product; 0 for others
  DType factors = DType::f32;  // of a product
  int64_t bytes = 0;           // activations read and written; the extra inputs of epilogues are left out
  int64_t weight_bytes = 0;    // of a product's weight as it is held
};

class Observer {
 public:
  virtual ~Observer() = default;
  // Dry runs (Backend::computes() is false) have shapes but no numbers: only who says so is told of them.
  virtual bool watches_dry_runs() const { return false; }
  virtual void on_op(const OpEvent&) {}
  virtual void on_tap(std::string_view /*path*/, const Tensor&) {}
  // A block begins; the block that began last ends. Dry runs are told of, too. on_leave() must not throw.
  virtual void on_enter(std::string_view /*path*/) {}
  virtual void on_leave() {}
};

// Adds an observer to the current thread's; the one added last is told first.
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

// What runs while it lives is the block's. Blocks nest; observers that came after a block's begin are told of its end, too.
class BlockScope {
 public:
  explicit BlockScope(std::string_view path);
  ~BlockScope();
  BlockScope(const BlockScope&) = delete;
  BlockScope& operator=(const BlockScope&) = delete;
};

// y = run() as a block of its own, tapped.
template <class F> Tensor in_block(std::string_view path, F run) {
  const BlockScope block(path);
  Tensor y = run();
  tap(path, y);
  return y;
}

// Ctrl-C and `cancel()` reach every op of the thread while a scope lives: check_canceled() throws Canceled.
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
