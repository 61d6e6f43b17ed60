// A web server on 127.0.0.1 whose responses, good and bad, are chosen by a test.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace hearth::test {

struct HttpRequest {
  std::string method, path;                    // the path with its query
  std::map<std::string, std::string> headers;  // names in lowercase
  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

struct HttpResponse {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;  // Content-Length is added unless present
  std::string body;
  size_t cut_after = std::string::npos;  // bytes of the body after which the connection is closed
  bool with_length = true;
};

// One thread per connection, one request per connection. Its destructor stops it.
class HttpServer {
 public:
  using Handler = std::function<HttpResponse(const HttpRequest&)>;  // called from several threads
  explicit HttpServer(Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::vector<HttpRequest> requests() const;  // so far
  void forget_requests();

 private:
  void accept_all();
  void serve(int connection);

  Handler handler_;
  int socket_ = -1, port_ = 0;
  std::atomic<bool> stop_{false};
  mutable std::mutex mutex_;
  std::vector<HttpRequest> requests_;  // under mutex_
  std::vector<std::thread> workers_;   // used only by accept_all(), until it has ended
  std::thread acceptor_;
};

}  // namespace hearth::test
