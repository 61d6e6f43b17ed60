#include "server/http/listener.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace hearth::http {
namespace {

std::string text_of(const sockaddr* address, int* port = nullptr) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
    if (port) *port = ntohs(v4->sin_port);
    return fmt::format("{}:{}", text, ntohs(v4->sin_port));
  }
  if (address->sa_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
    inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
    if (port) *port = ntohs(v6->sin6_port);
    return fmt::format("[{}]:{}", text, ntohs(v6->sin6_port));
  }
  return "unix";
}

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) return ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr) >> 24 == 127;
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

Listener open_unix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    fail<IoError>("cannot listen on unix:{}: the path has {} bytes, expected 1 to {}", path, path.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path, path.data(), path.size());
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) fail<IoError>("cannot listen on unix:{}: {}", path, std::strerror(errno));
  struct stat info {};
  if (lstat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode)) {
    // A socket that nobody listens on is left over from a server that was killed.
    if (connect(fd, generic, sizeof address) == 0) {
      close(fd);
      fail<IoError>("cannot listen on unix:{}: another server listens there", path);
    }
    if (errno == ECONNREFUSED) unlink(path.c_str());
  }
  // Without any rights for others before the file exists.
  const bool bound = fchmod(fd, 0600) == 0 && bind(fd, generic, sizeof address) == 0 && chmod(path.c_str(), 0600) == 0;
  if (!bound) {
    const int error = errno;
    close(fd);
    fail<IoError>("cannot listen on unix:{}: {}", path, std::strerror(error));
  }
  return {fd, AF_UNIX, 0, true, "unix:" + path, 0, path};
}

}  // namespace

Listener open_listener(const std::string& host, int port) {
  if (host.rfind("unix:", 0) == 0) return open_unix(host.substr(5));
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  std::string name = host;
  if (name.size() > 2 && name.front() == '[' && name.back() == ']') name = name.substr(1, name.size() - 2);
  const int problem = getaddrinfo(name.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (problem != 0) fail<IoError>("cannot listen on '{}': {}, expected an address of this computer", host, gai_strerror(problem));
  std::string error;
  Listener listener;
  for (const addrinfo* a = found; a && listener.socket < 0; a = a->ai_next) {
    const int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
    const int on = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 || bind(fd, a->ai_addr, a->ai_addrlen) != 0) {
      error = fmt::format("cannot listen on {}: {}", text_of(a->ai_addr), std::strerror(errno));
      if (fd >= 0) close(fd);
      continue;
    }
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size);
    listener = {fd, a->ai_family, a->ai_protocol, is_loopback(reinterpret_cast<sockaddr*>(&bound)), "", 0, ""};
    listener.address = text_of(reinterpret_cast<sockaddr*>(&bound), &listener.port);
  }
  freeaddrinfo(found);
  if (listener.socket < 0) fail<IoError>("{}", error);
  return listener;
}

void start_listening(const Listener& listener) {
  if (listen(listener.socket, 1024) != 0) fail<IoError>("cannot listen on {}: {}", listener.address, std::strerror(errno));
}

void remove_socket_file(const Listener& listener) {
  if (!listener.unix_path.empty()) unlink(listener.unix_path.c_str());
}

std::string peer_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "unknown";
  return text_of(reinterpret_cast<sockaddr*>(&address));
}

void allow_open_files(size_t needed) {
  constexpr size_t others = 256;  // weights, outputs, libraries
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= needed + others) return;
  if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < needed + others)
    fail<IoError>("{} connections need {} open files, but the limit of this process is {}: allow more (ulimit -n) or fewer connections",
                  needed, needed + others, limit.rlim_max);
  limit.rlim_cur = needed + others;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) fail<IoError>("cannot allow {} open files: {}", needed + others, std::strerror(errno));
}

}  // namespace hearth::http
