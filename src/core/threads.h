// A pool of workers that hands out small pieces of work. Workers spin for some microseconds, then sleep, so a busy
// machine slows us in proportion. Which thread runs which piece never changes a result: pieces are fixed by the caller.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace hearth {

class ThreadPool {
 public:
  // `threads` ≥ 1 counts the calling thread; 0 = as many as the process may run on. UsageError beyond 1024.
  // An idle pool has no workers and runs no piece: size() is that of a working one. For dry runs.
  enum class Mode { works, idle };
  explicit ThreadPool(int threads = 0, Mode mode = Mode::works);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const;

  // Binds each worker, and the calling thread, to a processor of its own, until the pool goes. Nothing is pinned otherwise: on a busy
  // machine a pinned thread waits for its processor. UsageError when there are more threads than processors.
  void pin();
  bool pinned() const;

  // Calls piece(i) for every i in [0, count), on the caller and the workers, and returns when all are done. The first
  // exception thrown by a piece is rethrown here. A call from inside a piece runs in that piece. Subnormal numbers are
  // flushed to zero in every piece, whichever thread runs it. Safe from any thread: callers take turns, but a single piece, or a call
  // on a pool of one, runs at once on its caller.
  void run(int64_t count, const std::function<void(int64_t piece)>& piece);

  // Splits [0, n) into ranges of `grain` elements (the last may be shorter): f(begin, end).
  template <class F> void for_ranges(int64_t n, int64_t grain, F f) {
    if (n <= 0) return;
    run((n + grain - 1) / grain, [&](int64_t i) { f(i * grain, (i + 1) * grain < n ? (i + 1) * grain : n); });
  }

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hearth
