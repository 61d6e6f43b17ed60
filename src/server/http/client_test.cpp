#include "server/http/client_test.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstring>

#include "server/http/uri.h"

namespace hearth::http::test {
namespace {

SSL_CTX* client_context() {
  static SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  return context;
}

}  // namespace

Client::Client(int port, bool tls) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(uint16_t(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    ended_ = true;
    return;
  }
  if (!tls) return;
  ssl_ = SSL_new(client_context());
  SSL_set_fd(ssl_, socket_);
  ended_ = SSL_connect(ssl_) != 1;
}

Client::Client(const std::string& unix_path) : socket_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, unix_path.c_str(), sizeof address.sun_path - 1);
  ended_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0;
}

Client::Client(Client&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      ended_(other.ended_),
      in_(std::move(other.in_)),
      ssl_(std::exchange(other.ssl_, nullptr)) {}

Client::~Client() { close(); }

void Client::close() {
  if (ssl_) SSL_free(ssl_);
  ssl_ = nullptr;
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

void Client::reset() {
  const linger now{1, 0};
  setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close();
}

void Client::end_sending() { shutdown(socket_, SHUT_WR); }

void Client::receive_little() {
  const int bytes = 2048;
  setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

bool Client::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent =
        ssl_ ? SSL_write(ssl_, bytes.data(), int(bytes.size())) : ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(size_t(sent));
  }
  return true;
}

bool Client::more(steady_clock::time_point end) {
  if (ended_) return false;
  pollfd events{socket_, POLLIN, 0};
  if (!ssl_ || SSL_pending(ssl_) == 0) {
    const auto left = std::chrono::duration_cast<Milliseconds>(end - steady_clock::now()).count();
    if (left <= 0 || ::poll(&events, 1, int(left)) <= 0) return false;
  }
  char buffer[16384];
  const ssize_t received = ssl_ ? SSL_read(ssl_, buffer, sizeof buffer) : recv(socket_, buffer, sizeof buffer, 0);
  if (received <= 0) {
    ended_ = true;
    return false;
  }
  in_.append(buffer, size_t(received));
  return true;
}

std::string Client::read_until(std::string_view end, Milliseconds patience) {
  const auto late = steady_clock::now() + patience;
  size_t found;
  while ((found = in_.find(end)) == std::string::npos)
    if (!more(late)) return std::exchange(in_, "");
  std::string text = in_.substr(0, found + end.size());
  in_.erase(0, text.size());
  return text;
}

bool Client::ended_after(std::string& bytes, Milliseconds patience) {
  const auto late = steady_clock::now() + patience;
  while (more(late)) {}
  bytes += std::exchange(in_, "");
  return ended_;
}

bool Client::ended(Milliseconds patience) {
  std::string dropped;
  return ended_after(dropped, patience);
}

Reply Client::reply(Milliseconds patience, bool is_head) {
  const auto late = steady_clock::now() + patience;
  const auto bytes = [&](size_t count) {
    while (in_.size() < count && more(late)) {}
    std::string text = in_.substr(0, count);
    in_.erase(0, text.size());
    return text;
  };
  Reply reply;
  const std::string head = read_until("\r\n\r\n", patience);
  if (head.size() < 13 || head.substr(head.size() - 4) != "\r\n\r\n") return reply;
  const int status = std::stoi(head.substr(9, 3));
  const auto lines = split(head, '\n');
  for (size_t i = 1; i + 2 < lines.size(); ++i) {
    const size_t colon = lines[i].find(": ");
    EXPECT_NE(colon, std::string::npos) << head;
    reply.headers.add(std::string(lines[i].substr(0, colon)), std::string(lines[i].substr(colon + 2, lines[i].size() - colon - 3)));
  }
  if (status == 100 || status == 204 || is_head) {
    reply.status = status;
  } else if (reply.headers.get("transfer-encoding") == "chunked") {
    for (;;) {
      const std::string line = read_until("\r\n", std::chrono::duration_cast<Milliseconds>(late - steady_clock::now()));
      size_t size = 0;
      if (line.size() < 3 || std::from_chars(line.data(), line.data() + line.size() - 2, size, 16).ptr != line.data() + line.size() - 2)
        return reply;
      const std::string chunk = bytes(size + 2);
      if (chunk.size() != size + 2) return reply;
      reply.body += chunk.substr(0, size);
      if (size == 0) break;
    }
    reply.status = status;
  } else if (const std::string_view length = reply.headers.get("content-length"); !length.empty()) {
    const size_t size = std::stoul(std::string(length));
    reply.body = bytes(size);
    if (reply.body.size() == size) reply.status = status;
  } else if (ended_after(reply.body, patience)) {
    reply.status = status;
  }
  return reply;
}

Reply ask(int port, std::string_view request) {
  Client client(port);
  client.send(request);
  return client.reply();
}

std::string get(std::string_view path, std::string_view lines) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n{}\r\n", path, lines);
}

std::string post(std::string_view path, std::string_view body, std::string_view lines) {
  return fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n{}\r\n{}", path, body.size(), lines, body);
}

std::unique_ptr<HttpServer> serve(Routes routes, ServerOptions options) {
  auto server = std::make_unique<HttpServer>(std::move(options), std::move(routes));
  server->start();
  return server;
}

}  // namespace hearth::http::test
