// Lines of the log, written by a thread of its own: nobody waits for a log that is not read, as on a terminal that was stopped.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace hearth::server {

class LogQueue {
 public:
  using Write = std::function<void(const std::string& line)>;

  // `write` is called on the thread alone, and may outlive the queue if it never returns. Beyond `most` lines that wait, further ones are
  // left out; a line in the log says how many.
  explicit LogQueue(Write write, size_t most = 4096);
  ~LogQueue();  // when all lines are written, or one has not been written in a second
  LogQueue(const LogQueue&) = delete;
  LogQueue& operator=(const LogQueue&) = delete;

  void add(std::string line);  // never waits

 private:
  struct State;
  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace hearth::server
