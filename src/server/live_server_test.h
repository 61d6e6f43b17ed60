// A running server with the demo models, and a client.
#pragma once

#include <curl/curl.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>
#include <utility>

#include "server/fields.h"
#include "server/server.h"

namespace hearth::server::test {

struct Response {
  int64_t status = 0;
  std::string body;
  std::string content_type;
  std::map<std::string, std::string> headers;  // in lower case

  Json json() const {
    const Json parsed = Json::parse(body, nullptr, false);
    EXPECT_FALSE(parsed.is_discarded()) << body;
    return parsed;
  }
  // The data of server-sent events, without [DONE]; a failure unless that is the last one.
  std::vector<Json> events() const;
};

class LiveServer {
 public:
  explicit LiveServer(ServeOptions options = {});
  ~LiveServer();

  Response get(const std::string& path, const std::vector<std::string>& headers = {}) const { return call("GET", path, "", headers); }
  Response post(const std::string& path, const Json& body, const std::vector<std::string>& headers = {}) const {
    return call("POST", path, body.dump(), headers);
  }
  Response call(const std::string& method, const std::string& path, const std::string& body,
                const std::vector<std::string>& headers = {}) const;
  // The same, leaving after `bytes` of the response have come.
  void leave_after(const std::string& path, const Json& body, size_t bytes) const;
  // The value of a metric's first line that begins with this; -1 if there is none.
  double metric(const std::string& name) const;
  // Whether the metric gets this value in time.
  bool becomes(const std::string& name, double value, std::chrono::milliseconds patience = std::chrono::seconds(60)) const;

  const std::string& url() const { return url_; }
  // SIGTERM's effect; returns when serve() has returned.
  void stop();

 private:
  std::atomic<bool> stop_ = false;
  std::string url_;
  std::thread thread_;
};

// A client that sends a POST request and leaves when the test wants it to, at the latest at its end.
class Visitor {
 public:
  Visitor(const LiveServer& server, const std::string& path, const Json& body);
  ~Visitor() { leave(); }
  Visitor(Visitor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)), in_(std::move(other.in_)) {}
  Visitor& operator=(Visitor&&) = delete;

  // Reads until the response has this text; false if it ends without, or after a minute.
  bool sees(const std::string& text);
  const std::string& read() const { return in_; }  // so far
  void leave();

 private:
  CURL* handle_;
  std::string in_;
};

// One for all tests of a program, with the demo models.
const LiveServer& live_server();

}  // namespace hearth::server::test
