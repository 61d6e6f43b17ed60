// A pool of workers for small pieces of work. Idle workers spin for some microseconds, then sleep, so that a busy machine slows hearth
// down only in proportion. The caller fixes the pieces, so which thread runs which piece never changes a result.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace hearth {

class ThreadPool {
 public:
  // `threads` ≥ 1 includes the calling thread; 0 = as many as the process may run on. UsageError above 1024.
  // An idle pool, for dry runs, has no workers and runs no piece; size() is that of a working pool.
  enum class Mode { works, idle };
  explicit ThreadPool(int threads = 0, Mode mode = Mode::works);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const;

  // Binds each worker and the calling thread to its own CPU until the pool is destroyed. Threads are not pinned by default: on a busy
  // machine a pinned thread waits for its CPU. UsageError if there are more threads than CPUs.
  void pin();
  bool pinned() const;

  // Calls piece(i) for every i in [0, count), on the caller and the workers, and returns when all are done. Rethrows the first exception
  // of a piece. A call from inside a piece runs within that piece. Every piece flushes subnormal numbers to zero, on every thread.
  // Thread-safe: callers take turns, but a single piece, or a call on a pool of one thread, runs immediately on its caller.
  void run(int64_t count, const std::function<void(int64_t piece)>& piece);

  // While it lives, run() of any pool uses this pool's threads if the calling thread calls it: for work alongside that of other pools.
  class Scope {
   public:
    explicit Scope(ThreadPool& pool);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    ThreadPool* outer_;
  };

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
