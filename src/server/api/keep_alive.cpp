#include "server/api/keep_alive.h"

#include "server/api/stream.h"

namespace hearth::server {

KeepAlive::KeepAlive(std::chrono::milliseconds silence) : silence_(silence), thread_([this] { run(); }) {}

KeepAlive::~KeepAlive() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void KeepAlive::watch(const std::shared_ptr<EventStream>& stream, std::string ping) {
  const std::lock_guard lock(mutex_);
  watched_.push_back({stream, std::move(ping)});
  if (watched_.size() == 1) changed_.notify_all();
}

void KeepAlive::run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    changed_.wait(lock, [&] { return stop_ || !watched_.empty(); });
    changed_.wait_for(lock, silence_ / 2, [&] { return stop_; });
    if (stop_) return;
    // Streams are written to without the mutex: the last holder of one may be this thread.
    std::vector<Watched> now = std::exchange(watched_, {});
    lock.unlock();
    std::erase_if(now, [&](const Watched& w) {
      const auto stream = w.stream.lock();
      return !stream || !stream->write_if_silent(w.ping, silence_);
    });
    lock.lock();
    watched_.insert(watched_.end(), std::make_move_iterator(now.begin()), std::make_move_iterator(now.end()));
  }
}

}  // namespace hearth::server
