#include "core/threads.h"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"

namespace hearth {
namespace {

thread_local bool inside_piece = false;
thread_local ThreadPool* in_place_of_all = nullptr;

constexpr int spin_rounds = 2000;  // about 20–50 µs of pauses before a thread goes to sleep

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Enables flush-to-zero and denormals-are-zero while a piece runs: subnormal operands slow some loops ninefold.
class FlushSubnormals {
 public:
#if defined(__x86_64__)
  FlushSubnormals() : saved_(__builtin_ia32_stmxcsr()) { __builtin_ia32_ldmxcsr(saved_ | 0x8040); }
  ~FlushSubnormals() { __builtin_ia32_ldmxcsr(saved_); }

 private:
  unsigned saved_;
#endif
};

int processors_allowed() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

void bind(pthread_t thread, int processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  if (const int error = pthread_setaffinity_np(thread, sizeof one, &one))
    fail<Error>("threads: cannot bind a thread to CPU {}: {}", processor, std::strerror(error));
}

}  // namespace

struct ThreadPool::State {
  int threads = 1;
  bool idle = false;
  std::optional<cpu_set_t> before_pin;  // of `pinned_by`
  pthread_t pinned_by{};
  std::vector<std::thread> workers;
  std::mutex mutex;
  std::condition_variable wake, finished;
  std::mutex one_job;  // callers from different threads take turns

  // The current job. Workers may enter while it is open; the caller closes it when no piece is left and waits only for those
  // inside. A worker that wakes too late is not waited for, and never touches a closed job.
  const std::function<void(int64_t)>* piece = nullptr;
  int64_t count = 0;
  std::atomic<int64_t> next{0};
  std::atomic<uint64_t> gate{0};  // job number · 2³² | open · 2³¹ | workers inside
  static constexpr uint64_t open = uint64_t(1) << 31, inside = open - 1;

  std::atomic<bool> stop{false};
  int sleeping = 0;          // under mutex
  std::exception_ptr error;  // under mutex

  void work() {
    FlushSubnormals flush;
    inside_piece = true;
    try {
      for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) (*piece)(i);
    } catch (...) {
      next.store(count, std::memory_order_relaxed);
      std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
    }
    inside_piece = false;
  }

  void worker() {
    uint32_t seen = 0;
    const auto news = [&] { return uint32_t(gate.load(std::memory_order_acquire) >> 32) != seen; };
    while (!stop) {
      for (int i = 0; i < spin_rounds && !news() && !stop; ++i) pause();
      if (!news()) {
        std::unique_lock lock(mutex);
        ++sleeping;
        wake.wait(lock, [&] { return stop || news(); });
        --sleeping;
        continue;
      }
      uint64_t now = gate.load(std::memory_order_acquire);
      seen = uint32_t(now >> 32);
      bool entered = false;
      while ((now & open) && uint32_t(now >> 32) == seen && !entered)
        entered = gate.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel);
      if (!entered) continue;
      work();
      if (const uint64_t before = gate.fetch_sub(1, std::memory_order_acq_rel); !(before & open) && (before & inside) == 1) {
        std::lock_guard lock(mutex);
        finished.notify_one();
      }
    }
  }
};

ThreadPool::ThreadPool(int threads, Mode mode) : state_(std::make_unique<State>()) {
  if (threads < 0 || threads > 1024) fail<UsageError>("threads: {} is out of range, expected 1 to 1024, or 0 for all CPUs", threads);
  if (threads == 0) threads = processors_allowed();
  state_->threads = threads;
  state_->idle = mode == Mode::idle;
  if (state_->idle) return;
  for (int i = 1; i < threads; ++i) state_->workers.emplace_back([this] { state_->worker(); });
}

ThreadPool::~ThreadPool() {
  if (state_->before_pin) pthread_setaffinity_np(state_->pinned_by, sizeof *state_->before_pin, &*state_->before_pin);
  {
    std::lock_guard lock(state_->mutex);
    state_->stop = true;
  }
  state_->wake.notify_all();
  for (auto& worker : state_->workers) worker.join();
}

void ThreadPool::pin() {
  State& s = *state_;
  cpu_set_t allowed;
  if (s.before_pin) return;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) fail<Error>("threads: cannot read the CPU affinity: {}", std::strerror(errno));
  if (s.threads > CPU_COUNT(&allowed)) fail<UsageError>("threads: {} threads cannot be pinned to {} CPUs", s.threads, CPU_COUNT(&allowed));
  if (s.idle) return;
  s.before_pin = allowed;
  s.pinned_by = pthread_self();
  int processor = 0;
  for (int i = 0; i < s.threads; ++i, ++processor) {
    while (!CPU_ISSET(processor, &allowed)) ++processor;
    bind(i == 0 ? s.pinned_by : s.workers[size_t(i) - 1].native_handle(), processor);
  }
}

ThreadPool::Scope::Scope(ThreadPool& pool) : outer_(std::exchange(in_place_of_all, &pool)) {}
ThreadPool::Scope::~Scope() { in_place_of_all = outer_; }

bool ThreadPool::pinned() const { return state_->before_pin.has_value(); }
int ThreadPool::size() const { return state_->threads; }

void ThreadPool::run(int64_t count, const std::function<void(int64_t)>& piece) {
  if (count <= 0) return;
  State& s = *state_;
  if (s.idle) return;
  if (in_place_of_all && in_place_of_all != this && !inside_piece) return in_place_of_all->run(count, piece);
  if (inside_piece || s.workers.empty() || count == 1) {
    FlushSubnormals flush;
    for (int64_t i = 0; i < count; ++i) piece(i);
    return;
  }
  std::lock_guard turn(s.one_job);
  s.piece = &piece;
  s.count = count;
  s.next.store(0, std::memory_order_relaxed);
  s.error = nullptr;
  bool any_asleep;
  {
    std::lock_guard lock(s.mutex);
    s.gate.store(((s.gate.load(std::memory_order_relaxed) >> 32) + 1) << 32 | State::open, std::memory_order_release);
    any_asleep = s.sleeping > 0;
  }
  if (any_asleep) s.wake.notify_all();
  s.work();
  s.gate.fetch_and(~State::open, std::memory_order_acq_rel);
  const auto empty = [&] { return (s.gate.load(std::memory_order_acquire) & State::inside) == 0; };
  for (int i = 0; i < spin_rounds && !empty(); ++i) pause();
  if (!empty()) {
    std::unique_lock lock(s.mutex);
    s.finished.wait(lock, empty);
  }
  if (s.error) std::rethrow_exception(s.error);
}

}  // namespace hearth
