// Threads that run handlers, away from the connections, with a bounded queue.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace hearth::http {

class HandlerPool {
 public:
  HandlerPool(int threads, size_t queue_limit);
  ~HandlerPool();  // drops what waits, and waits for what runs
  HandlerPool(const HandlerPool&) = delete;
  HandlerPool& operator=(const HandlerPool&) = delete;

  bool submit(std::function<void()> task);  // false, and the task is unchanged in effect: the queue is full. A task must not throw
  size_t waiting() const;

 private:
  void work();

  size_t queue_limit_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;  // under mutex_
  bool stop_ = false;                        // under mutex_
  std::vector<std::thread> threads_;
};

}  // namespace hearth::http
