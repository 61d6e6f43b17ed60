// How the server listens, whom it serves, and how much it accepts.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "server/http/error_page.h"

namespace hearth::http {

using Milliseconds = std::chrono::milliseconds;

struct ServerLimits {
  // At most so many connections. Beyond them the one that has waited longest without a complete request is closed; if all are busy, some
  // more are served only routes that answer at once, and a 503 otherwise.
  int connections = 4096;
  size_t header_bytes = 32 << 10;       // request line and fields; beyond: 431
  size_t body_bytes = 16 << 20;         // beyond: 413. RouteOptions::body_bytes overrides it
  size_t total_body_bytes = 1u << 30;   // of all requests that are not answered yet; beyond: 503
  size_t stream_queue_bytes = 1 << 20;  // that wait for a slow client (Responder::write)
  size_t handler_queue = 256;           // requests that wait for a handler's thread; beyond: 503
  Milliseconds header_time{10'000};     // from a request's first byte to the end of its header (408), and for a TLS handshake
  Milliseconds body_time{30'000};       // for a body (408), longer by the time that its bytes take at `slowest`
  Milliseconds idle_time{75'000};       // until the first byte of a request; then the connection is closed
  Milliseconds write_time{30'000};      // for bytes that wait for the client, longer by the time that they take at `slowest`; then the
                                        // connection is dropped
  uint64_t slowest = 16 << 10;          // bytes per second of a client that is not too slow
  int retry_after = 1;                  // seconds, in each 503 of the server itself
};

// What the log learns of a request: no bodies, no queries, no keys.
struct LogEntry {
  std::string client, method, path;  // path as sent, without the query; empty if the request could not be read
  std::string id;
  int status = 0;           // of the response; 499: the client had gone before one began
  uint64_t bytes = 0;       // sent, with the header
  double milliseconds = 0;  // from the end of the request's header to the last byte sent
  bool complete = true;     // false: the client went away, or was dropped, before it had all of the response
  std::string note;         // what a handler threw; empty
};

// "127.0.0.1:40312 POST /v1/completions 200 5120 bytes 83.1 ms 5f0c…", in one line whatever the client has sent.
std::string line_of(const LogEntry& entry);

struct ServerOptions {
  std::string host = "127.0.0.1";  // an address, a name, or "unix:PATH" for a socket that only this user may open
  int port = 0;                    // 0: any free one

  std::string tls_certificate, tls_key;  // PEM files (the certificate with its chain); both or neither

  std::vector<std::string> api_keys;      // none: everybody who reaches the server
  bool allow_without_key = false;         // beyond loopback addresses too
  std::vector<std::string> host_names;    // that a request without keys may name besides localhost, e.g. those of a proxy
  std::vector<std::string> cors_origins;  // web pages that may use the server: "https://chat.example", or "*"

  ServerLimits limits;
  int io_threads = 1;       // for the connections; one serves thousands
  int handler_threads = 4;  // for handlers of routes without `at_once`

  ErrorFormatter error_page = plain_error_page;
  std::function<void(const LogEntry&)> log;  // after each response; called on the connections' threads, must not wait. May be empty
};

}  // namespace hearth::http
