// Listening sockets.
#pragma once

#include <string>

namespace hearth::http {

struct Listener {
  int socket = -1;
  int family = 0, protocol = 0;
  bool is_loopback = false;  // only this computer reaches it
  std::string address;       // "127.0.0.1:8080", "[::1]:8080", "unix:/run/hearth.sock"
  int port = 0;
  std::string unix_path;  // to remove when the server ends; else empty
};

// Opens the socket of ServerOptions::host and port, without listening yet. IoError in one line.
Listener open_listener(const std::string& host, int port);
void start_listening(const Listener& listener);  // IoError
void remove_socket_file(const Listener& listener);

// "127.0.0.1:40312" of a connection's other end; "unix".
std::string peer_of(int socket);

// Raises this process's limit of open files so that `needed` more fit. IoError if it may not be that high.
void allow_open_files(size_t needed);

}  // namespace hearth::http
