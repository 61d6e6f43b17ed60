#include "support/http_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <sstream>
#include <stdexcept>

namespace hearth::test {
namespace {

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return text;
}

HttpRequest parse(const std::string& text) {
  HttpRequest request;
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  std::istringstream(line) >> request.method >> request.path;
  while (std::getline(lines, line) && line != "\r") {
    const size_t colon = line.find(':');
    if (colon != line.npos) request.headers[lower(line.substr(0, colon))] = line.substr(colon + 2, line.size() - colon - 3);
  }
  return request;
}

void send_all(int connection, const std::string& bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::send(connection, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (n <= 0) return;  // the client has disconnected
    done += size_t(n);
  }
}

}  // namespace

HttpServer::HttpServer(Handler handler) : handler_(std::move(handler)) {
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (socket_ < 0 || ::bind(socket_, generic, size) != 0 || ::listen(socket_, 64) != 0 || ::getsockname(socket_, generic, &size) != 0)
    throw std::runtime_error("the test server cannot open a socket");
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

HttpServer::~HttpServer() {
  stop_ = true;
  acceptor_.join();
  for (std::thread& worker : workers_) worker.join();
  ::close(socket_);
}

std::vector<HttpRequest> HttpServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void HttpServer::forget_requests() {
  const std::lock_guard lock(mutex_);
  requests_.clear();
}

void HttpServer::accept_all() {
  while (!stop_) {
    pollfd waiting{.fd = socket_, .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, 10) <= 0) continue;
    const int connection = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection >= 0) workers_.emplace_back([this, connection] { serve(connection); });
  }
}

void HttpServer::serve(int connection) {
  timeval patience{.tv_sec = 5, .tv_usec = 0};
  ::setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  std::string text;
  char buffer[4096];
  while (text.find("\r\n\r\n") == text.npos) {
    const ssize_t n = ::recv(connection, buffer, sizeof buffer, 0);
    if (n <= 0) {  // the client has disconnected
      ::close(connection);
      return;
    }
    text.append(buffer, size_t(n));
  }
  const HttpRequest request = parse(text);
  {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
  }
  const HttpResponse response = handler_(request);
  std::string head = fmt::format("HTTP/1.1 {} Answer\r\nConnection: close\r\n", response.status);
  bool has_length = !response.with_length;
  for (const auto& [name, value] : response.headers) {
    head += name + ": " + value + "\r\n";
    has_length |= lower(name) == "content-length";
  }
  if (!has_length) head += fmt::format("Content-Length: {}\r\n", response.body.size());
  head += "\r\n";
  send_all(connection, head);
  if (request.method != "HEAD") send_all(connection, response.body.substr(0, response.cut_after));
  ::shutdown(connection, SHUT_WR);
  ::close(connection);
}

}  // namespace hearth::test
