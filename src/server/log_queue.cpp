#include "server/log_queue.h"

#include <fmt/format.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace hearth::server {

// Shared with the thread, which the queue leaves behind if it never returns.
struct LogQueue::State {
  State(Write w, size_t m) : write(std::move(w)), most(m) {}

  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return stop || !lines.empty(); });
      if (lines.empty()) break;
      std::string line = std::move(lines.front());
      lines.pop_front();
      const size_t missing = lines.empty() ? std::exchange(left_out, 0) : 0;
      lock.unlock();
      try {
        write(line);
        if (missing > 0) write(fmt::format("{} lines of the log were left out: they came faster than they could be written", missing));
      } catch (const std::exception&) {}  // NOLINT(bugprone-empty-catch): there is nowhere to tell it
      lock.lock();
      ++written;
      changed.notify_all();
    }
    ended = true;
    changed.notify_all();
  }

  const Write write;
  const size_t most;
  std::mutex mutex;  // everything below
  std::condition_variable changed;
  std::deque<std::string> lines;
  size_t left_out = 0, written = 0;
  bool stop = false, ended = false;
};

LogQueue::LogQueue(Write write, size_t most) : state_(std::make_shared<State>(std::move(write), most)) {
  thread_ = std::thread([state = state_] { state->run(); });
}

LogQueue::~LogQueue() {
  std::unique_lock lock(state_->mutex);
  state_->stop = true;
  state_->changed.notify_all();
  for (bool goes_on = true; goes_on && !state_->ended;) {
    const size_t before = state_->written;
    goes_on = state_->changed.wait_for(lock, std::chrono::seconds(1), [&] { return state_->ended || state_->written != before; });
  }
  const bool ended = state_->ended;
  lock.unlock();
  if (ended) thread_.join();
  else thread_.detach();
}

void LogQueue::add(std::string line) {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->lines.size() >= state_->most) {
      ++state_->left_out;
      return;
    }
    state_->lines.push_back(std::move(line));
  }
  state_->changed.notify_all();
}

}  // namespace hearth::server
