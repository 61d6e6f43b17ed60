// A client that sends exactly the bytes that a test wants, and reads responses.
#pragma once

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "server/http/server.h"

namespace hearth::http::test {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

struct Reply {
  int status = 0;  // 0: the connection ended before the response was complete
  Headers headers;
  std::string body;
};

class Client {
 public:
  explicit Client(int port, bool tls = false);
  explicit Client(const std::string& unix_path);
  ~Client();
  Client(Client&& other) noexcept;
  Client& operator=(Client&&) = delete;

  bool send(std::string_view bytes);                                          // false: the connection has ended
  Reply reply(Milliseconds patience = 10s, bool is_head = false);             // the next response; a failure if it does not arrive in time
  std::string read_until(std::string_view end, Milliseconds patience = 10s);  // all up to and with `end`
  bool ended(Milliseconds patience = 10s);  // whether the server closes the connection in time; drops what it sends before
  bool ended_after(std::string& bytes, Milliseconds patience = 10s);  // the same; appends what it sends
  void end_sending();                                                 // shutdown
  void close();
  void reset();           // close with RST
  void receive_little();  // the smallest receive buffer; for slow readers
  int socket() const { return socket_; }

 private:
  bool more(steady_clock::time_point end);  // false: the connection has ended, or it is late

  int socket_ = -1;
  bool ended_ = false;
  std::string in_;
  SSL* ssl_ = nullptr;
};

// One request on a connection of its own.
Reply ask(int port, std::string_view request);
// "GET /path HTTP/1.1" with a Host header and the given further lines, each of which ends with \r\n.
std::string get(std::string_view path, std::string_view lines = "");
std::string post(std::string_view path, std::string_view body, std::string_view lines = "");

std::unique_ptr<HttpServer> serve(Routes routes, ServerOptions options = {});

// What a handler hands to its test; a failed test instead of a hang if it does not come.
template <class T> T received(std::promise<T>& promise) {
  auto future = promise.get_future();
  if (future.wait_for(20s) != std::future_status::ready) throw std::runtime_error("the handler was not called");
  return future.get();
}

// Whether the condition becomes true in time.
template <class F> bool eventually(F condition, Milliseconds patience = 10s) {
  const auto end = steady_clock::now() + patience;
  while (!condition()) {
    if (steady_clock::now() > end) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

}  // namespace hearth::http::test
