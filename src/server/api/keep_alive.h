// Something now and then on streams that are silent for long, so that neither clients nor proxies take them for dead.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace hearth::server {

class EventStream;

// One thread for all streams, which sleeps while there are none.
class KeepAlive {
 public:
  explicit KeepAlive(std::chrono::milliseconds silence);
  ~KeepAlive();
  KeepAlive(const KeepAlive&) = delete;

  // Writes `ping`, a comment or an event that clients ignore, after each such silence, from the stream's beginning to its end.
  void watch(const std::shared_ptr<EventStream>& stream, std::string ping);

 private:
  struct Watched {
    std::weak_ptr<EventStream> stream;
    std::string ping;
  };
  void run();

  const std::chrono::milliseconds silence_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Watched> watched_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace hearth::server
