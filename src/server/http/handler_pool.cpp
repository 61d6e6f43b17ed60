#include "server/http/handler_pool.h"

namespace hearth::http {

HandlerPool::HandlerPool(int threads, size_t queue_limit) : queue_limit_(queue_limit) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

HandlerPool::~HandlerPool() {
  std::deque<std::function<void()>> dropped;
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
    dropped.swap(tasks_);
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool HandlerPool::submit(std::function<void()> task) {
  {
    const std::scoped_lock lock(mutex_);
    if (tasks_.size() >= queue_limit_) return false;
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
  return true;
}

size_t HandlerPool::waiting() const {
  const std::scoped_lock lock(mutex_);
  return tasks_.size();
}

void HandlerPool::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stop_ || !tasks_.empty(); });
    if (stop_) return;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // what it holds is destroyed without the mutex
    lock.lock();
  }
}

}  // namespace hearth::http
